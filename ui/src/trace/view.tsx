import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Problem } from "../api/client.ts";
import { count, duration, plain, short } from "../lib/format.ts";
import { useSettled } from "../lib/hooks.ts";
import { changeQuery, usePlace } from "../lib/router.ts";
import { Copy, Empty, Loading, ProblemNote, StatusMark, Time } from "../parts/basic.tsx";
import { Details } from "./details.tsx";
import { loadSpans, type Loaded } from "./load.ts";
import { matching, rowOf, spanId, word } from "./model.ts";
import { ERROR, STATUSES } from "./table.ts";
import { Waterfall } from "./waterfall.tsx";
import "../style/trace.css";

/** A trace that still runs is loaded again so often, unless it is so large that it would be felt. */
const FRESH_MS = 2000;
const FRESH_SPANS_MAX = 5000;

interface Props {
  /** Where the spans are. */
  url: string;
  title: string;
  id: string;
  head?: (loaded: Loaded) => ComponentChildren;
}

/** Spans as tree and waterfall, with the details of the one that is selected. */
export function TraceView({ url, title, id, head }: Props) {
  const { query } = usePlace();
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [round, setRound] = useState(0);
  const [selected, setSelected] = useState(-1);
  const [isOpen, setOpen] = useState(query.get("span") !== null);
  const [find, setFind] = useState("");
  const [failedOnly, setFailedOnly] = useState(false);
  const selectedId = useRef(query.get("span") ?? "");

  useEffect(
    () =>
      loadSpans(
        url,
        (part) => {
          // A picture that is complete is not replaced by the beginning of the next one.
          setLoaded((known) => (known?.envelope && !part.envelope ? known : part));
          setProblem(null);
        },
        setProblem,
      ),
    [url, round],
  );

  const columns = loaded?.columns ?? null;
  // A link to another span of what is shown changes nothing but the address.
  const wantedId = query.get("span") ?? "";
  useEffect(() => {
    if (wantedId === selectedId.current) return;
    selectedId.current = wantedId;
    if (columns) setSelected(wantedId ? rowOf(columns, wantedId) : -1);
    if (wantedId) setOpen(true);
  }, [wantedId]);
  useEffect(() => {
    if (columns) setSelected(selectedId.current ? rowOf(columns, selectedId.current) : -1);
  }, [columns]);

  useEffect(() => {
    if (!loaded?.envelope || loaded.columns.open === 0 || loaded.columns.length > FRESH_SPANS_MAX) return;
    const timer = setTimeout(() => !document.hidden && setRound((now) => now + 1), FRESH_MS);
    return () => clearTimeout(timer);
  }, [loaded]);

  const wanted = useSettled(find, 120);
  const matches = useMemo(() => (columns ? matching(columns, wanted, failedOnly) : null), [columns, wanted, failedOnly]);
  const found = useMemo(() => matches?.reduce((sum, one) => sum + one, 0) ?? 0, [matches]);

  const select = (row: number): void => {
    if (!columns) return;
    setSelected(row);
    selectedId.current = row < 0 ? "" : spanId(columns, row);
    changeQuery({ span: selectedId.current || null });
  };

  /** Goes to the next match, or to the next failure if nothing is looked for. */
  const step = (by: number): void => {
    if (!columns) return;
    // What is typed counts at once, also before it is shown.
    const now = matching(columns, find, failedOnly);
    const fits = (row: number): boolean => (now ? now[row] === 1 : columns.status[row] === ERROR);
    for (let n = 1, row = selected; n <= columns.length; n++) {
      row = (row + by + columns.length) % columns.length;
      if (fits(row)) {
        select(row);
        return;
      }
    }
  };
  const latest = useRef(step);
  latest.current = step;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
      if (isTyping || event.ctrlKey || event.metaKey) return;
      if (event.key === "n" || event.key === "N") latest.current(event.key === "n" ? 1 : -1);
      else if (event.key === "Escape") setOpen(false);
      else if (event.key === "j" || event.key === "k" || event.key === "Enter") {
        const tree = document.querySelector<HTMLElement>(".waterfall");
        // The tree hears its keys itself; from elsewhere they lead there.
        if (tree && document.activeElement === document.body) {
          tree.focus();
          tree.dispatchEvent(new KeyboardEvent("keydown", { key: event.key }));
        }
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  if (problem && !columns) {
    return (
      <section class="page">
        <div class="bar"><h1>{plain(title)}</h1></div>
        {problem.status === 404 ? (
          <Empty title="This is not here, or not any more">
            <p>Days are kept as long as the retention says. It may also never have been recorded.</p>
            <p><a href="/sessions">All sessions</a></p>
          </Empty>
        ) : (
          <ProblemNote problem={problem} again={() => setRound(round + 1)} />
        )}
      </section>
    );
  }
  if (!columns || !loaded) return <Loading what="the spans" />;
  return (
    <section class={`trace ${isOpen && selected >= 0 ? "with-details" : ""}`}>
      <div class="bar">
        <h1 title={title}>{plain(columns.length > 0 ? word(columns, columns.name[0]) : title)}</h1>
        {head ? head(loaded) : columns.length > 0 && <StatusMark status={STATUSES[columns.status[0] ?? 0] ?? ""} />}
        <span class="facts">
          {columns.length > 0 && <><Time us={columns.origin} /> · </>}
          <b>{duration(columns.end)}</b> · {count(columns.length)} spans
          {columns.errors > 0 && <span class="error-text"> · {count(columns.errors)} failed</span>}
          {columns.open > 0 && <span class="run-text"> · {count(columns.open)} open</span>}
          {loaded.envelope === null && <span role="status"> · still loading …</span>}
          {loaded.envelope?.["truncated"] === true && <span class="cut-mark"> · more spans than are shown</span>}
          <span class="muted"> · <code title={id}>{short(plain(id))}</code> <Copy text={id} /></span>
          {columns.orphans > 0 && <span class="muted" title="Their parents were not recorded, or elsewhere."> · {count(columns.orphans)} without their parent</span>}
        </span>
        <label class="field find">
          <span class="unseen">Find in this trace</span>
          <input type="search" placeholder="Find in this trace" value={find} spellcheck={false} onInput={(event) => setFind(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") {
                event.preventDefault();
                step(event.shiftKey ? -1 : 1);
              }
            }}
          />
        </label>
        <button type="button" aria-pressed={failedOnly} class={failedOnly ? "primary" : ""} onClick={() => setFailedOnly(!failedOnly)}>Failed</button>
        {matches && <span class="muted" role="status">{count(found)} found</span>}
        <button type="button" aria-label="Previous match" title="N" onClick={() => step(-1)}>↑</button>
        <button type="button" aria-label="Next match" title="n" onClick={() => step(1)}>↓</button>
      </div>
      {problem && <ProblemNote problem={problem} again={() => setRound(round + 1)} />}
      {columns.length === 0 ? (
        <Empty title="No spans"><p>Nothing of it was recorded. Servers and operations can be left out with <code>capture = "off"</code>.</p></Empty>
      ) : (
        <div class="panes">
          <Waterfall columns={columns} selected={selected} matches={matches} onSelect={select} onOpen={() => setOpen(true)} />
          {isOpen && selected >= 0 && (
            <Details
              trace={word(columns, columns.trace[selected])}
              span={spanId(columns, selected)}
              round={round}
              onClose={() => {
                setOpen(false);
                document.querySelector<HTMLElement>(".waterfall")?.focus();
              }}
            />
          )}
        </div>
      )}
    </section>
  );
}
