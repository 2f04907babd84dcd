import { useState } from "preact/hooks";
import type { FormField, Input } from "../api/types.ts";
import { contentOf, type Filled, startOf } from "../lib/form.ts";
import { ago, plain } from "../lib/format.ts";
import { to } from "../lib/router.ts";
import { Left, useAct } from "../parts/act.tsx";

/** A question of a server, with its form. Everything in it but the labels of the buttons is the server's own text. */
export function InputCard({ input, now, mayAct }: { input: Input; now: number; mayAct: boolean }) {
  const { told, isBusy, isFresh, act } = useAct();
  const fields = input.form?.fields ?? [];
  const [filled, setFilled] = useState(() => new Map<string, Filled>(fields.map((field) => [field.name, startOf(field)])));
  const [missing, setMissing] = useState<string[]>([]);
  const isOver = Date.parse(input.expires_at) <= now;
  const isOff = isBusy || isFresh || isOver;
  const say = (action: "accept" | "decline" | "cancel", content?: Record<string, unknown>): void =>
    void act(`inputs/${encodeURIComponent(input.id)}`, content ? { action, content } : { action });
  const send = (event: Event): void => {
    event.preventDefault();
    const { content, missing } = contentOf(fields, Object.fromEntries(filled));
    setMissing(missing);
    if (missing.length === 0 && !isOff) say("accept", content);
  };
  return (
    <article class="card input" data-row tabIndex={0} aria-label={`Question of ${input.server}`}>
      <header>
        <h3>{plain(input.server)}</h3>
        <span class="danger">asks</span>
        <Left until={input.expires_at} now={now} />
      </header>
      <p>
        The server <b>{plain(input.server)}</b> asks, working on <b>{plain(input.operation)}</b>
        <span class="muted"> for {plain(input.principal)} · asked {ago(Date.parse(input.asked_at) * 1000, now)}</span>
      </p>
      {input.message && <blockquote class="asked">{plain(input.message)}</blockquote>}
      {input.url !== undefined && (
        <p>It wants somebody to open <code class="address">{plain(input.url)}</code></p>
      )}
      {mayAct && (
        <form onSubmit={send} autocomplete="off" noValidate>
          {fields.map((field) => (
            <FieldInput key={field.name} field={field} id={`${input.id}-${field.name}`} value={filled.get(field.name)}
              onChange={(value) => { setFilled(new Map(filled).set(field.name, value)); setMissing([]); }} />
          ))}
          {input.no_form && <p class="muted">It can only be declined here: {plain(input.no_form)}.</p>}
          {input.form && <p class="muted">What you fill in goes to this server, and is written into no trace and no log.</p>}
          <footer>
            {input.form && <button type="submit" class="approve" disabled={isOff}>Send</button>}
            <button type="button" class="deny" disabled={isOff} onClick={() => say("decline")}>Decline</button>
            <button type="button" disabled={isOff} onClick={() => say("cancel")}>Cancel</button>
          </footer>
        </form>
      )}
      {missing.length > 0 && <p class="error-text" role="alert">Still to be filled in: {missing.map(plain).join(", ")}</p>}
      {told !== null && <p class="error-text" role="alert">{told}</p>}
      <p class="muted ids"><code>{input.id}</code> · <a href={to.connection(input.session_id)}>calls of its client</a></p>
    </article>
  );
}

const MODES = { email: "email", uri: "url", "date-time": "text" } as const;

function FieldInput({ field, id, value, onChange }: { field: FormField; id: string; value: Filled | undefined; onChange(value: Filled): void }) {
  const label = plain(field.title ?? field.name);
  const mark = field.required ? <span class="required" title="has to be filled in"> *</span> : null;
  const hint = field.description ? <span class="muted hint" id={`${id}-hint`}>{plain(field.description)}</span> : null;
  const described = field.description ? { "aria-describedby": `${id}-hint` } : {};
  const text = typeof value === "string" ? value : "";
  if (field.type === "boolean") {
    return (
      <label class="asked-field tick">
        <input type="checkbox" checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} {...described} />
        <span>{label}{hint}</span>
      </label>
    );
  }
  if (field.type === "choices") {
    const chosen = Array.isArray(value) ? value : [];
    const toggle = (choice: string, isOn: boolean): void => onChange(isOn ? [...chosen, choice] : chosen.filter((other) => other !== choice));
    return (
      <fieldset class="asked-field">
        <legend>{label}{mark}</legend>
        {hint}
        {field.options.map(({ value: choice, title }) => (
          <label class="tick" key={choice}>
            <input type="checkbox" checked={chosen.includes(choice)} onChange={(event) => toggle(choice, event.currentTarget.checked)} />
            <span>{plain(title ?? choice)}</span>
          </label>
        ))}
      </fieldset>
    );
  }
  return (
    <label class="asked-field">
      <span>{label}{mark}</span>
      {field.type === "choice" && (
        <select value={text} onChange={(event) => onChange(event.currentTarget.value)} {...described}>
          <option value="" />
          {field.options.map(({ value: choice, title }) => <option key={choice} value={choice}>{plain(title ?? choice)}</option>)}
        </select>
      )}
      {field.type === "number" && (
        <input type="number" step={field.whole ? 1 : "any"} min={field.minimum} max={field.maximum} value={text}
          onInput={(event) => onChange(event.currentTarget.value)} {...described} />
      )}
      {field.type === "text" && field.format === "date" && (
        <input type="date" value={text} onInput={(event) => onChange(event.currentTarget.value)} {...described} />
      )}
      {field.type === "text" && field.format !== "date" && (
        <input type="text" inputMode={field.format ? MODES[field.format] : "text"} maxLength={field.max_length} value={text}
          placeholder={field.format === "date-time" ? "2026-01-31T12:00:00Z" : undefined}
          onInput={(event) => onChange(event.currentTarget.value)} {...described} />
      )}
      {hint}
    </label>
  );
}
