import type { SessionRow } from "../api/types.ts";
import { count, duration, plain } from "../lib/format.ts";
import { useSettled, useTitle } from "../lib/hooks.ts";
import { changeQuery, to, usePlace } from "../lib/router.ts";
import { whoOf } from "../lib/spans.ts";
import { choicesOf, Empty, EngineMark, FirstTraffic, Loading, ProblemNote, Select, ReportedMark, StatusMark, TextField, Time } from "../parts/basic.tsx";
import { More } from "../parts/more.tsx";
import { useFollowing, usePaged } from "../parts/paged.ts";
import { sinceOf, TIMES } from "../lib/times.ts";

const PAGE = 100;

export default function Sessions() {
  useTitle("Sessions");
  const { query } = usePlace();
  const engine = query.get("engine") ?? "";
  const status = query.get("status") ?? "";
  const time = query.get("time") ?? "";
  const agent = useSettled(query.get("agent") ?? "", 250);
  const text = useSettled(query.get("q") ?? "", 250);
  const filter = { engine, status, agent, q: text, since_us: sinceOf(time), limit: PAGE };
  const paged = usePaged<SessionRow>("sessions", "sessions", filter, (row) => row.session_id);
  const isFiltered = Boolean(engine || status || agent || text || time);
  useFollowing(paged, PAGE, ["SessionStarted", "SessionFinished"]);
  return (
    <section class="page">
      <div class="bar">
        <h1>Sessions</h1>
        <TextField label="Text" value={query.get("q") ?? ""} placeholder="title, tag, id" onInput={(q) => changeQuery({ q })} />
        <TextField label="Agent" value={query.get("agent") ?? ""} placeholder="server id" onInput={(value) => changeQuery({ agent: value })} />
        <Select label="Engine" value={engine} choices={choicesOf(["inbound", "asyncio", "temporal"], "any")} onChange={(value) => changeQuery({ engine: value })} />
        <Select label="Status" value={status} choices={choicesOf(["running", "waiting", "ok", "error", "cancelled"], "any")} onChange={(value) => changeQuery({ status: value })} />
        <Select label="Time" value={time} choices={TIMES} onChange={(value) => changeQuery({ time: value })} />
      </div>
      <ProblemNote problem={paged.problem} again={paged.again} />
      {paged.rows.length === 0 && paged.isLoading && <Loading what="sessions" />}
      {paged.rows.length === 0 && !paged.isLoading && !paged.problem && (
        isFiltered ? (
          <Empty title="No session fits">
            <button type="button" onClick={() => changeQuery({ q: null, agent: null, engine: null, status: null, time: null })}>Show all</button>
          </Empty>
        ) : (
          <Empty title="No sessions yet"><FirstTraffic /></Empty>
        )
      )}
      {paged.rows.length > 0 && (
        <div class="table">
          <table class="list">
            <thead>
              <tr>
                <th>Started</th>
                <th>Status</th>
                <th class="main">Session</th>
                <th>Engine</th>
                <th class="opt">Who</th>
                <th class="opt">By</th>
                <th class="number opt">Spans</th>
                <th class="number opt">Errors</th>
                <th class="number">Time</th>
              </tr>
            </thead>
            <tbody>
              {paged.rows.map((row) => (
                <tr key={row.session_id} class={row.status}>
                  <td class="time"><Time us={row.started_us} /></td>
                  <td class="state"><StatusMark status={row.status} brief /></td>
                  <td class="main">
                    <a data-row href={to.session(row.session_id)}>{plain(row.title || row.session_id)}</a>
                    <ReportedMark reported={row.reported} />
                    {row.tags.map((tag) => <span key={tag} class="tag">{plain(tag)}</span>)}
                  </td>
                  <td class="side"><EngineMark engine={row.engine} /></td>
                  <td class="opt">{plain(whoOf(row))}</td>
                  <td class="opt">{plain(row.principal ?? row.connection ?? "")}{row.transport && <span class="muted"> {row.transport}</span>}</td>
                  <td class="number opt">{count(row.span_count)}</td>
                  <td class={`number opt ${row.error_count > 0 ? "error-text" : "muted"}`}>{count(row.error_count)}</td>
                  <td class="number took">{row.duration_us === null ? "…" : duration(row.duration_us)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <More paged={paged} />
    </section>
  );
}
