import { plain } from "../lib/format.ts";
import { piecesOf } from "../lib/json.ts";
import { Copy } from "./basic.tsx";

/** A value of others, as text and never as anything else. JSON is indented and coloured, and its long texts have their lines. */
export function Code({ value, label }: { value: unknown; label: string }) {
  const text = pretty(value);
  return (
    <div class="code">
      <pre tabIndex={0} aria-label={label}>
        {text.isJson ? marked(text.text) : plain(text.text)}
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

function marked(json: string) {
  return piecesOf(json).map(({ kind, text }) => (kind === "plain" ? plain(text) : <span class={kind}>{plain(text)}</span>));
}
