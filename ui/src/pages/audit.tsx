import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, said } from "../api/client.ts";
import type { AuditEntry, Verified } from "../api/types.ts";
import { count, plain } from "../lib/format.ts";
import { useTitle } from "../lib/hooks.ts";
import { Copy, Empty, Loading, ProblemNote, Time } from "../parts/basic.tsx";
import { Code } from "../parts/code.tsx";
import { changeQuery, to, usePlace } from "../lib/router.ts";

const PAGE = 100;

interface Answer {
  entries: AuditEntry[];
  last: number;
}

/** The log counts upwards; here its end comes first. */
export default function Audit() {
  useTitle("Audit");
  const [entries, setEntries] = useState<AuditEntry[]>([]);
  const [isLoading, setLoading] = useState(true);
  const [problem, setProblem] = useState<Problem | null>(null);
  const { query } = usePlace();
  const text = query.get("q") ?? "";
  const open = Number(query.get("entry")) || null;
  const setOpen = (number: number | null): void => changeQuery({ entry: number === null ? null : String(number) });
  const isThere = useRef(true);

  const load = async (before: number | null): Promise<void> => {
    setLoading(true);
    try {
      const end = before ?? (await get<Answer>("audit", { after: 0, limit: 1 })).last + 1;
      const after = Math.max(0, end - 1 - PAGE);
      const limit = end - 1 - after;
      const page = limit > 0 ? (await get<Answer>("audit", { after, limit })).entries.reverse() : [];
      if (!isThere.current) return;
      setEntries((known) => (before === null ? page : [...known, ...page]));
      setProblem(null);
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, "UNREADABLE", said(error)));
    }
    setLoading(false);
  };
  useEffect(() => {
    void load(null);
    return () => {
      isThere.current = false;
    };
  }, []);

  const oldest = entries[entries.length - 1]?.number ?? 1;
  const shown = entries.filter((entry) => JSON.stringify(entry.event).toLowerCase().includes(text.toLowerCase()));
  return (
    <section class="page">
      <div class="bar">
        <h1>Audit</h1>
        <label class="field"><span>Filter</span><input type="search" value={text} placeholder="in what is loaded" onInput={(event) => changeQuery({ q: event.currentTarget.value })} /></label>
        <button type="button" onClick={() => void load(null)}>Refresh</button>
        <Verify />
      </div>
      <ProblemNote problem={problem} again={() => void load(null)} />
      {isLoading && entries.length === 0 && <Loading what="the log" />}
      {!isLoading && entries.length === 0 && !problem && (
        <Empty title="Nothing was decided yet"><p>Every decision about what is destructive or worse is written here before its call runs, each entry chained to the one before it.</p></Empty>
      )}
      {shown.length > 0 && (
        <div class="table">
          <table class="list">
            <thead><tr><th class="number opt">No.</th><th>Time</th><th class="main">Event</th><th>Outcome</th><th class="opt">Operation</th><th class="opt">Who</th><th class="opt">Channel</th></tr></thead>
            <tbody>
              {shown.map((entry) => (
                <Entry key={entry.number} entry={entry} isOpen={open === entry.number} onToggle={() => setOpen(open === entry.number ? null : entry.number)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {oldest > 1 && entries.length > 0 && (
        <button type="button" class="more" data-row disabled={isLoading} onClick={() => void load(oldest)}>{isLoading ? "Loading …" : `Load more (${count(oldest - 1)} older)`}</button>
      )}
    </section>
  );
}

const OUTCOMES: Record<string, string> = { allowed: "ok", confirmed: "ok", success: "ok", denied: "error", failure: "error", pending: "waiting" };

function Entry({ entry, isOpen, onToggle }: { entry: AuditEntry; isOpen: boolean; onToggle(): void }) {
  const { event } = entry;
  const text = (name: string): string => (typeof event[name] === "string" ? plain(event[name] as string) : "");
  const outcome = text("outcome");
  const session = text("session_id");
  return (
    <>
      <tr>
        <td class="number muted opt">{entry.number}</td>
        <td class="time"><Time us={Date.parse(entry.at) * 1000} /></td>
        <td class="main"><button type="button" class="link-like" data-row aria-expanded={isOpen} onClick={onToggle}>{text("event") || "?"}</button></td>
        <td class="took">{outcome && <span class={`status ${OUTCOMES[outcome] ?? "other"}`}><i aria-hidden="true" /><span>{outcome}</span></span>}</td>
        <td class="opt">{text("operation")}</td>
        <td class="opt">{text("agent") || text("principal")}</td>
        <td class="opt">{text("channel")}</td>
      </tr>
      {isOpen && (
        <tr class="opened">
          <td colSpan={7}>
            <Code label={`Entry ${entry.number}`} value={event} />
            <p class="muted ids">hash <code>{entry.hash}</code> {session && <a href={to.connection(session)}>calls of its client</a>}</p>
          </td>
        </tr>
      )}
    </>
  );
}

function Verify() {
  const [result, setResult] = useState<Verified | string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const verify = async (): Promise<void> => {
    setBusy(true);
    try {
      setResult(await get<Verified>("audit/verify"));
    } catch (error) {
      setResult(said(error));
    }
    setBusy(false);
  };
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => void verify()}>{isBusy ? "Following the chain …" : "Verify"}</button>
      {result !== null && (
        <span class="verified" role="status">
          {typeof result === "string" ? <span class="error-text">{result}</span> : result.state === "whole" ? (
            <span class="status ok"><i aria-hidden="true" /><span>whole, {count(result.entries)} entries, head <code title={result.head}>{result.head.slice(0, 12)}…</code> <Copy text={result.head} label="Copy the head" /></span></span>
          ) : (
            <span class="status error"><i aria-hidden="true" /><span>broken: {plain(result.why)}</span></span>
          )}
        </span>
      )}
    </>
  );
}
