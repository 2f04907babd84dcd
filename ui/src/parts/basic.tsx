import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Problem } from "../api/client.ts";
import type { Engine } from "../api/types.ts";
import { clock } from "../lib/format.ts";

const STATUS_WORDS: Record<string, string> = {
  running: "running",
  waiting: "waiting",
  ok: "ok",
  error: "error",
  cancelled: "cancelled",
};

/** Colour and word, since some see only one of them. */
export function StatusMark({ status, brief = false }: { status: string; brief?: boolean }) {
  const known = STATUS_WORDS[status.toLowerCase()] ?? "other";
  return (
    <span class={`status ${known}`} title={status}>
      <i aria-hidden="true" />
      <span class={brief ? "brief" : ""}>{STATUS_WORDS[known] ?? status}</span>
    </span>
  );
}

const ENGINES: Record<Engine, string> = {
  inbound: "a request that the gateway served",
  asyncio: "a workflow, or what an agent reports",
  temporal: "reported by a Temporal worker",
};

export function EngineMark({ engine }: { engine: Engine }) {
  return (
    <span class={`engine ${engine}`} title={ENGINES[engine]}>
      {engine}
    </span>
  );
}

/** What others say is told apart from what was recorded here. */
export function ReportedMark({ reported }: { reported: boolean }) {
  return reported ? <span class="tag" title="Somebody else reported it; it was not recorded here">reported</span> : null;
}

export function Time({ us }: { us: number }) {
  const at = new Date(us / 1000);
  const full = Number.isNaN(at.getTime()) ? "" : at.toISOString();
  return (
    <time dateTime={full} title={full}>
      {clock(us)}
    </time>
  );
}

/** An empty place says how it gets filled. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Command({ children }: { children: string }) {
  return (
    <p class="command">
      <code>{children}</code>
      <Copy text={children} />
    </p>
  );
}

/** What to do where nothing has come through the gateway yet. */
export function FirstTraffic() {
  return (
    <>
      <p>Nothing has to be instrumented: whatever goes through the gateway is seen here. Take over the servers of your clients,</p>
      <Command>aqueduct init</Command>
      <p>put one server behind it,</p>
      <Command>aqueduct wrap -- npx @modelcontextprotocol/server-everything</Command>
      <p>or make a call by hand:</p>
      <Command>aqueduct call introspect query=operations</Command>
    </>
  );
}

export function ProblemNote({ problem, again }: { problem: Problem | null; again?: () => void }) {
  if (!problem || problem.status === 401) return null;
  return (
    <div class="problem" role="alert">
      <strong>{problem.status === 0 ? "No answer" : problem.code}</strong>
      <span>{problem.message}</span>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  // Only what takes long enough to be noticed is announced.
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return <p class="loading" role="status">{isShown ? `Loading ${what} …` : ""}</p>;
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!isDone) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [isDone]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
    } catch {
      // Without the right to it, the text is still there to be marked.
    }
  };
  return (
    <button type="button" class="quiet copy" onClick={() => void copy()}>
      {isDone ? "Copied" : label}
    </button>
  );
}

export function Dialog({
  title,
  onClose,
  children,
  required = false,
}: {
  title: string;
  onClose?: () => void;
  children: ComponentChildren;
  required?: boolean;
}) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog
      ref={element}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        if (!required) onClose?.();
      }}
      onClick={(event) => {
        if (!required && event.target === element.current) onClose?.();
      }}
    >
      <div class="dialog">
        <header>
          <h2>{title}</h2>
          {!required && (
            <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
              ✕
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  );
}

export interface Choice {
  value: string;
  label: string;
}

export function Select(props: { label: string; value: string; choices: Choice[]; onChange(value: string): void }) {
  return (
    <label class="field">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.choices.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

export function TextField(props: {
  label: string;
  value: string;
  placeholder?: string;
  /** What may be meant. */
  offers?: string[];
  onInput(value: string): void;
}) {
  const list = useId();
  const offers = props.offers ?? [];
  return (
    <label class="field">
      <span>{props.label}</span>
      <input
        type="text"
        value={props.value}
        placeholder={props.placeholder ?? ""}
        list={offers.length > 0 ? list : undefined}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
      {offers.length > 0 && <datalist id={list}>{offers.map((value) => <option key={value} value={value} />)}</datalist>}
    </label>
  );
}

export function choicesOf(words: readonly string[], all: string): Choice[] {
  return [{ value: "", label: all }, ...words.map((word) => ({ value: word, label: word }))];
}
