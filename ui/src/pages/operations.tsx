import { useContext, useRef, useState } from "preact/hooks";
import { health, post, said } from "../api/client.ts";
import type { SpanRow } from "../api/types.ts";
import { useSettled, useTitle } from "../lib/hooks.ts";
import { changeQuery, usePlace } from "../lib/router.ts";
import { useSignal } from "../lib/signal.ts";
import { isEndable, whereOf } from "../lib/spans.ts";
import { sinceOf, TIMES } from "../lib/times.ts";
import { Moved } from "../parts/act.tsx";
import { choicesOf, Empty, FirstTraffic, Loading, ProblemNote, Select, TextField } from "../parts/basic.tsx";
import { More } from "../parts/more.tsx";
import { useFollowing, usePaged } from "../parts/paged.ts";
import { SpanTable } from "../parts/spans.tsx";

const SLOW = [
  { value: "", label: "any" },
  { value: "100000", label: "over 100 ms" },
  { value: "1000000", label: "over 1 s" },
  { value: "10000000", label: "over 10 s" },
];
const NAMES = ["operation", "server", "tool", "agent", "method"] as const;
/** Those that everybody has a use for; the others are shown when they are asked for. */
const ALWAYS: readonly string[] = ["operation", "server"];
const PAGE = 100;
const NEWS = ["McpRequestStarted", "McpRequestFinished", "WaitingOnSignal", "SignalReceived"];

export default function Operations() {
  useTitle("Operations");
  const { query } = usePlace();
  const given = (name: string): string => query.get(name) ?? "";
  const named = useSettled(JSON.stringify(NAMES.map((name) => [name, given(name)])), 250);
  const filter = {
    ...(Object.fromEntries(JSON.parse(named) as [string, string][])),
    status: given("status"),
    engine: given("engine"),
    min_duration_us: given("slow"),
    since_us: sinceOf(given("time")),
    limit: PAGE,
  };
  const paged = usePaged<SpanRow>("operations", "operations", filter, (row) => row.trace_id + row.span_id);
  useFollowing(paged, PAGE, NEWS);
  const isFiltered = [...query.keys()].length > 0;
  const [isMore, setMore] = useState(false);
  const shown = NAMES.filter((name) => isMore || ALWAYS.includes(name) || given(name) !== "");
  // Names that were seen are offered, since only a whole one fits.
  const known = useRef(new Map<string, Set<string>>());
  for (const row of paged.rows) {
    for (const name of NAMES) {
      const value = name === "server" ? whereOf(row) : row[name];
      if (value) known.current.set(name, (known.current.get(name) ?? new Set()).add(value));
    }
  }
  return (
    <section class="page">
      <div class="bar">
        <h1>Operations</h1>
        {shown.map((name) => (
          <TextField
            key={name}
            label={`${name[0]?.toUpperCase()}${name.slice(1)}`}
            value={given(name)}
            placeholder="whole name"
            offers={[...(known.current.get(name) ?? [])]}
            onInput={(value) => changeQuery({ [name]: value })}
          />
        ))}
        {shown.length < NAMES.length && <button type="button" onClick={() => setMore(true)}>More filters</button>}
        <Select label="Status" value={given("status")} choices={choicesOf(["running", "waiting", "ok", "error", "cancelled"], "any")} onChange={(value) => changeQuery({ status: value })} />
        <Select label="Took" value={given("slow")} choices={SLOW} onChange={(value) => changeQuery({ slow: value })} />
        <Select label="Time" value={given("time")} choices={TIMES} onChange={(value) => changeQuery({ time: value })} />
        <button type="button" onClick={paged.again}>Refresh</button>
      </div>
      <ProblemNote problem={paged.problem} again={paged.again} />
      {paged.rows.length === 0 && paged.isLoading && <Loading what="operations" />}
      {paged.rows.length === 0 && !paged.isLoading && !paged.problem && (
        isFiltered ? <Empty title="No operation fits"><p>Names have to be whole ones. Parts of them, arguments and errors are found by the <a href="/search">search</a>.</p><a class="button" href="/operations">Show all</a></Empty> : <Empty title="No operations yet"><FirstTraffic /></Empty>
      )}
      {paged.rows.length > 0 && <SpanTable spans={paged.rows} action={(span) => <CancelOperation span={span} onDone={paged.again} />} />}
      <More paged={paged} />
    </section>
  );
}

export function CancelOperation({ span, onDone }: { span: SpanRow; onDone(): void }) {
  const role = useSignal(health)?.role;
  const [told, setTold] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const hasMoved = useContext(Moved);
  if (!isEndable(span)) return null;
  if (role === "viewer") return <span class="muted" title="Your key may look, and change nothing.">look only</span>;
  const cancel = async (): Promise<void> => {
    setBusy(true);
    setTold("Cancelling …");
    try {
      await post(`operations/${encodeURIComponent(span.span_id)}/cancel`);
      setTold("Cancelled");
    } catch (error) {
      // It may work the next time, so the button stays.
      setTold(said(error));
      setBusy(false);
    }
    onDone();
  };
  return (
    <>
      {!isBusy && <button type="button" disabled={hasMoved} onClick={() => void cancel()}>Cancel</button>}
      {told !== null && <span role="status"> {told}</span>}
    </>
  );
}
