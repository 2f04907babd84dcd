import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { live } from "../api/events.ts";
import type { LiveEvent, SpanRow } from "../api/types.ts";
import { count, duration, plain } from "../lib/format.ts";
import { useEvents, useSettled, useTitle } from "../lib/hooks.ts";
import { changeQuery, to, usePlace } from "../lib/router.ts";
import { fits, Tail, type TailRow } from "../lib/tail.ts";
import { choicesOf, Empty, FirstTraffic, ReportedMark, Select, StatusMark, TextField, Time } from "../parts/basic.tsx";

/** So many rows are shown at once; the filter looks at all that are kept. */
const SHOWN_MAX = 250;
/** Pictures are this far apart at least, in milliseconds. */
const PICTURE_MS = 50;
/** So many events that were told before are shown where every event is a row. */
const BEFORE = 200;

export default function Live() {
  useTitle("Live");
  const { query } = usePlace();
  const isRaw = query.get("view") === "events";
  const text = useSettled(query.get("q") ?? "", 100);
  const status = query.get("status") ?? "";
  const [isPaused, setPaused] = useState(false);
  const tail = useRef(new Tail(isRaw));
  const [rows, setRows] = useState<TailRow[]>([]);
  const [hidden, setHidden] = useState(0);
  const paused = useRef(false);
  const queued = useRef(0);
  const shownAt = useRef(0);
  const seenWhenPaused = useRef(0);
  const [isSeeded, setSeeded] = useState(false);
  /** Whether anything was ever called. */
  const [isKnown, setKnown] = useState(false);

  const show = (): void => {
    queued.current = 0;
    shownAt.current = performance.now();
    if (paused.current) setHidden(tail.current.seen - seenWhenPaused.current);
    else setRows(tail.current.rows);
  };

  const queue = (): void => {
    if (queued.current !== 0) return;
    const since = performance.now() - shownAt.current;
    // The first of many is shown at once; frames do not come to a page in the background, timers do.
    queued.current = window.setTimeout(show, since >= PICTURE_MS ? 0 : PICTURE_MS - since);
  };

  useEvents((events: LiveEvent[]) => {
    tail.current.push(events);
    queue();
  });

  useEffect(() => {
    tail.current = new Tail(isRaw);
    const abort = new AbortController();
    setSeeded(false);
    const fill = async (): Promise<void> => {
      const { operations } = await get<{ operations: SpanRow[] }>("operations", { limit: 100 }, abort.signal);
      setKnown(operations.length > 0);
      if (isRaw) tail.current.before(await live.before(BEFORE, abort.signal));
      else tail.current.seed(operations);
    };
    void fill()
      .catch(() => undefined)
      .then(() => {
        if (abort.signal.aborted) return;
        setSeeded(true);
        show();
      });
    return () => {
      abort.abort();
      clearTimeout(queued.current);
      queued.current = 0;
    };
  }, [isRaw]);

  const pause = (): void => {
    paused.current = !paused.current;
    seenWhenPaused.current = tail.current.seen;
    setHidden(0);
    setPaused(paused.current);
    if (!paused.current) setRows(tail.current.rows);
  };
  const latestPause = useRef(pause);
  latestPause.current = pause;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
      if (event.key === "p" && !isTyping && !event.ctrlKey && !event.metaKey) latestPause.current();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  const fitting = text || status ? rows.filter((row) => fits(row, text, status)) : rows;
  return (
    <section class="page">
      <div class="bar">
        <h1>Live</h1>
        <button type="button" class={isPaused ? "primary" : ""} aria-pressed={isPaused} onClick={pause}>
          {isPaused ? `Continue${hidden > 0 ? ` (${count(hidden)} new)` : ""}` : "Pause"}
        </button>
        <TextField label="Filter" value={query.get("q") ?? ""} placeholder="tool, server, client, error" onInput={(q) => changeQuery({ q })} />
        <Select
          label="Status"
          value={status}
          choices={choicesOf(["running", "waiting", "ok", "error", "cancelled"], "any")}
          onChange={(next) => changeQuery({ status: next })}
        />
        <Select
          label="View"
          value={isRaw ? "events" : ""}
          choices={[{ value: "", label: "requests" }, { value: "events", label: "every event" }]}
          onChange={(view) => changeQuery({ view })}
        />
      </div>
      {rows.length === 0 && isSeeded && isKnown && (
        <Empty title="Nothing has happened since this page was opened">
          <p>Events come here as they happen. What was called before is among the <a href="/live">requests</a> and the <a href="/operations">operations</a>.</p>
        </Empty>
      )}
      {rows.length === 0 && isSeeded && !isKnown && (
        <Empty title="Waiting for the first call">
          <FirstTraffic />
        </Empty>
      )}
      {rows.length > 0 && fitting.length === 0 && (
        <Empty title="Nothing of this fits the filter">
          <button type="button" onClick={() => changeQuery({ q: null, status: null })}>Show everything</button>
        </Empty>
      )}
      {fitting.length > 0 && (
        <div class="table">
          <table class="list">
            <thead>
              <tr>
                <th>Time</th>
                <th>Status</th>
                <th class="main">{isRaw ? "Event" : "Request"}</th>
                <th class="opt">Server</th>
                <th class="opt">Who</th>
                <th class="number">Took</th>
              </tr>
            </thead>
            <tbody>{fitting.slice(0, SHOWN_MAX).map((row) => <Row key={row.key} row={row} isRaw={isRaw} />)}</tbody>
          </table>
        </div>
      )}
      {fitting.length > SHOWN_MAX && (
        <p class="muted foot">
          The latest {SHOWN_MAX} of {count(fitting.length)} that are kept here. Everything is under <a href="/operations">Operations</a>.
        </p>
      )}
    </section>
  );
}

function Row({ row, isRaw }: { row: TailRow; isRaw: boolean }) {
  const isSession = row.kind === "SessionStarted" || row.kind === "SessionFinished";
  const target = isSession ? to.session(row.session_id) : to.trace(row.trace_id, row.span_id);
  const arrow = row.direction === "outbound" ? "→" : row.direction === "inbound" ? "←" : "";
  const way = row.direction === "outbound" ? "to a server" : row.direction === "inbound" ? "from a client" : "";
  return (
    <tr class={row.status}>
      <td class="time"><Time us={row.at_us} /></td>
      <td class="state"><StatusMark status={row.status} brief /></td>
      <td class="main">
        {isRaw && <span class="kind">{row.kind}</span>}
        <span class="arrow" title={way} aria-label={way}>{arrow}</span>
        <a data-row href={target}>{plain(row.title)}</a>
        <span class="muted"> {plain(row.detail)}</span>
        <ReportedMark reported={row.reported} />
        {row.error && <span class="error-text"> {plain(row.error)}</span>}
      </td>
      <td class="opt">{plain(row.peer)}</td>
      <td class="opt">{plain(row.who)}</td>
      <td class="number took">{row.duration_us === null ? "" : duration(row.duration_us)}</td>
    </tr>
  );
}
