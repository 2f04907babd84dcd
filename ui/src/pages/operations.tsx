import { useState } from "preact/hooks";
import { health, post, said } from "../api/client.ts";
import type { SpanRow } from "../api/types.ts";
import { useSettled, useTitle } from "../lib/hooks.ts";
import { changeQuery, usePlace } from "../lib/router.ts";
import { useSignal } from "../lib/signal.ts";
import { sinceOf, TIMES } from "../lib/times.ts";
import { choicesOf, Empty, FirstTraffic, Loading, ProblemNote, Select, TextField } from "../parts/basic.tsx";
import { More } from "../parts/more.tsx";
import { usePaged } from "../parts/paged.ts";
import { SpanTable } from "../parts/spans.tsx";

const SLOW = [
  { value: "", label: "any" },
  { value: "100000", label: "over 100 ms" },
  { value: "1000000", label: "over 1 s" },
  { value: "10000000", label: "over 10 s" },
];
const NAMES = ["operation", "tool", "server", "agent", "method"] as const;

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
    limit: 100,
  };
  const paged = usePaged<SpanRow>("operations", "operations", filter, (row) => row.trace_id + row.span_id);
  const isFiltered = [...query.keys()].length > 0;
  return (
    <section class="page">
      <div class="bar">
        <h1>Operations</h1>
        {NAMES.map((name) => (
          <TextField key={name} label={`${name[0]?.toUpperCase()}${name.slice(1)}`} value={given(name)} isOptional={name !== "operation" && name !== "server"} onInput={(value) => changeQuery({ [name]: value })} />
        ))}
        <Select label="Status" value={given("status")} choices={choicesOf(["running", "waiting", "ok", "error", "cancelled"], "any")} onChange={(value) => changeQuery({ status: value })} />
        <Select label="Took" value={given("slow")} choices={SLOW} onChange={(value) => changeQuery({ slow: value })} />
        <Select label="Time" value={given("time")} choices={TIMES} onChange={(value) => changeQuery({ time: value })} />
        <button type="button" onClick={paged.again}>Refresh</button>
      </div>
      <ProblemNote problem={paged.problem} again={paged.again} />
      {paged.rows.length === 0 && paged.isLoading && <Loading what="operations" />}
      {paged.rows.length === 0 && !paged.isLoading && !paged.problem && (
        isFiltered ? <Empty title="No operation fits"><a class="button" href="/operations">Show all</a></Empty> : <Empty title="No operations yet"><FirstTraffic /></Empty>
      )}
      {paged.rows.length > 0 && <SpanTable spans={paged.rows} action={(span) => <CancelOperation span={span} onDone={paged.again} />} />}
      <More paged={paged} />
    </section>
  );
}

export function CancelOperation({ span, onDone }: { span: SpanRow; onDone(): void }) {
  const role = useSignal(health)?.role;
  const [said_, setSaid] = useState<string | null>(null);
  if (span.status !== "running" && span.status !== "waiting") return null;
  if (role === "viewer") return <span class="muted" title="Your key may look, and change nothing.">look only</span>;
  const cancel = async (): Promise<void> => {
    setSaid("Cancelling …");
    try {
      await post(`operations/${encodeURIComponent(span.span_id)}/cancel`);
      setSaid("Cancelled");
      onDone();
    } catch (error) {
      setSaid(said(error));
    }
  };
  return said_ === null ? <button type="button" onClick={() => void cancel()}>Cancel</button> : <span role="status">{said_}</span>;
}
