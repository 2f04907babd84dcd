import { plain } from "../lib/format.ts";
import { Copy } from "./basic.tsx";

/** Longer values are shown as plain text: a colour for every word of them would only make them slow. */
const COLOURED_CHARS_MAX = 40_000;

const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

/** A value of others, as text and never as anything else. JSON is indented and coloured. */
export function Code({ value, label }: { value: unknown; label: string }) {
  const text = pretty(value);
  return (
    <div class="code">
      <pre tabIndex={0} aria-label={label}>
        {text.isJson && text.text.length <= COLOURED_CHARS_MAX ? coloured(plain(text.text)) : plain(text.text)}
      </pre>
      <Copy text={text.text} />
    </div>
  );
}

export function pretty(value: unknown): { text: string; isJson: boolean } {
  if (typeof value !== "string") return { text: JSON.stringify(value, null, 2) ?? String(value), isJson: true };
  const first = value.trimStart()[0];
  if (first === "{" || first === "[") {
    try {
      return { text: JSON.stringify(JSON.parse(value), null, 2), isJson: true };
    } catch {
      // A value that was cut is no JSON any more; it is shown as it is.
    }
  }
  return { text: value, isJson: false };
}

function coloured(text: string) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(TOKENS)) {
    if (found.index > from) parts.push(text.slice(from, found.index));
    const [all, string, colon] = found;
    if (string !== undefined) {
      parts.push(<span class={colon === undefined ? "string" : "name"}>{string}</span>);
      if (colon !== undefined) parts.push(colon);
    } else parts.push(<span class="number">{all}</span>);
    from = found.index + all.length;
  }
  parts.push(text.slice(from));
  return parts;
}
