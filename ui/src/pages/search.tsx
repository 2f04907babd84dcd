import type { SpanRow } from "../api/types.ts";
import { count } from "../lib/format.ts";
import { useTitle } from "../lib/hooks.ts";
import { changeQuery, usePlace } from "../lib/router.ts";
import { sinceOf, TIMES } from "../lib/times.ts";
import { Empty, Loading, ProblemNote, Select } from "../parts/basic.tsx";
import { More } from "../parts/more.tsx";
import { usePaged } from "../parts/paged.ts";
import { SpanTable } from "../parts/spans.tsx";

export default function Search() {
  const { query } = usePlace();
  const text = (query.get("q") ?? "").trim();
  useTitle(text ? `“${text}”` : "Search");
  const time = query.get("time") ?? "";
  const paged = usePaged<SpanRow>(text ? "search" : null, "spans", { q: text, since_us: sinceOf(time), limit: 100 }, (row) => row.trace_id + row.span_id);
  const lag = Number(paged.answer?.["index_lag"] ?? 0);
  return (
    <section class="page">
      <div class="bar">
        <h1>Search</h1>
        <Select label="Time" value={time} choices={TIMES} onChange={(value) => changeQuery({ time: value })} />
        {lag > 0 && <p class="note" role="status">{count(lag)} spans are not in the index yet; look again in a moment.</p>}
      </div>
      <ProblemNote problem={paged.problem} again={paged.again} />
      {paged.isLoading && paged.rows.length === 0 && <Loading what="what was found" />}
      {!paged.isLoading && paged.rows.length === 0 && !paged.problem && (
        <Empty title={text ? `Nothing has “${text}”` : "Search in every span"}>
          <p>Names, the values of attributes and errors are searched, whole words of them: <code>tools/call</code>, a server, a word of an argument, an error's code. <code>whal*</code> finds what begins so, and an id its spans.</p>
        </Empty>
      )}
      {paged.rows.length > 0 && <SpanTable spans={paged.rows} />}
      <More paged={paged} />
    </section>
  );
}
