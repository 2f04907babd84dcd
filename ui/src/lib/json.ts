/** JSON as people read it. */

/** Longer values are shown as plain text: a colour for every word of them would only make them slow. */
const COLOURED_CHARS_MAX = 40_000;

const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

export interface Piece {
  kind: "plain" | "name" | "string" | "lines" | "number";
  text: string;
}

/** JSON taken apart. A text of several lines is a piece that has them, without what JSON writes in their place. */
export function piecesOf(json: string): Piece[] {
  const isColoured = json.length <= COLOURED_CHARS_MAX;
  const pieces: Piece[] = [];
  let from = 0;
  const put = (kind: Piece["kind"], text: string): void => void (text !== "" && pieces.push({ kind, text }));
  for (const found of json.matchAll(TOKENS)) {
    const [all, string, colon] = found;
    const lines = string !== undefined && colon === undefined && string.includes("\\n") ? (JSON.parse(string) as string) : "";
    if (lines.includes("\n")) {
      put("plain", json.slice(from, found.index));
      put("lines", lines);
      // It ends with its own last line: what follows begins on the next one anyway.
      from = found.index + all.length + (/^,?\n?/.exec(json.slice(found.index + all.length, found.index + all.length + 2))?.[0].length ?? 0);
      continue;
    }
    if (!isColoured) continue;
    put("plain", json.slice(from, found.index));
    put(string === undefined ? "number" : colon === undefined ? "string" : "name", string ?? all);
    put("plain", colon ?? "");
    from = found.index + all.length;
  }
  put("plain", json.slice(from));
  return pieces;
}
