import type { ServerRow, Tokens } from "../api/types.ts";
import { ago, count, duration, plain, share } from "../lib/format.ts";
import { useLoad, useTitle } from "../lib/hooks.ts";
import { changeQuery, to, usePlace } from "../lib/router.ts";
import { sinceOf, TIMES } from "../lib/times.ts";
import { Command, Empty, Loading, ProblemNote, ReportedMark, Select } from "../parts/basic.tsx";
import { Percentiles, PercentilesKey } from "../parts/plot.tsx";
import "../style/servers.css";

export default function Servers() {
  useTitle("Servers");
  const { query } = usePlace();
  const time = query.get("time") ?? "24h";
  const load = useLoad<{ servers: ServerRow[] }>("servers", { since_us: sinceOf(time) }, 5000);
  const tokens = useLoad<Tokens>("tokens");
  const rows = load.data?.servers ?? [];
  const most = Math.max(10, ...rows.map((row) => row.p99_us ?? 0));
  const eager = new Map(tokens.data?.servers.map((row) => [row.server, row.eager_tokens]));
  return (
    <section class="page">
      <div class="bar">
        <h1>Servers</h1>
        <Select label="Time" value={time} choices={TIMES.filter((one) => one.value)} onChange={(value) => changeQuery({ time: value })} />
      </div>
      <ProblemNote problem={load.problem} again={load.again} />
      {!load.data && !load.problem && <Loading what="servers" />}
      {load.data && rows.length === 0 && (
        <Empty title="No servers behind the gateway">
          <p>Take over what your clients have configured, or add one under <code>[upstream.NAME]</code>:</p>
          <Command>aqueduct init</Command>
        </Empty>
      )}
      {rows.length > 0 && (
        <div class="table">
          <table>
            <thead>
              <tr>
                <th class="main">Server</th>
                <th class="opt">State</th>
                <th class="number">Calls</th>
                <th class="number">Errors</th>
                <th class="number">p50</th>
                <th class="number">p95</th>
                <th class="number opt">p99</th>
                <th class="opt">Latency</th>
                <th class="number opt" title="What its tools would cost a model that sees them all">Tokens</th>
                <th class="number opt">Last call</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.server}>
                  <td class="main">
                    <a data-row href={to.server(row.server)}>{plain(row.server)}</a>
                    <ReportedMark reported={row.reported === true} />
                    {row.held > 0 && <span class="cut-mark" title="Tools whose definition changed are held back until that is accepted."> {count(row.held)} changed</span>}
                    {row.running > 0 && <span class="run-text"> {count(row.running)} running</span>}
                    {row.state !== null && <div class="narrow"><State state={row.state} error={row.error ?? null} /></div>}
                  </td>
                  <td class="opt"><State state={row.state} error={row.error ?? null} /></td>
                  <td class="number">{count(row.calls)}</td>
                  <td class={`number ${row.errors > 0 ? "error-text" : "muted"}`}>{share(row.errors, row.calls)}</td>
                  <td class="number">{duration(row.p50_us)}</td>
                  <td class="number">{duration(row.p95_us)}</td>
                  <td class="number opt">{duration(row.p99_us)}</td>
                  <td class="opt"><Percentiles row={row} most={most} /></td>
                  <td class="number opt">{eager.has(row.server) ? count(eager.get(row.server)) : "–"}</td>
                  <td class="number opt">{ago(row.last_us)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <p class="legend opt"><span>Latency:</span> <PercentilesKey /></p>
        </div>
      )}
      {tokens.data && <TokenLedger tokens={tokens.data} />}
    </section>
  );
}

export function State({ state, error = null }: { state: string | null; error?: string | null }) {
  if (state === null) return <span class="muted">–</span>;
  const kind = /^(ready|connected|running|open|ok|up)$/i.test(state) ? "ok" : /^(connecting|starting|restarting|reconnecting|idle|closed|asleep|known|unknown)/i.test(state) ? "waiting" : "error";
  return (
    <span class={`status ${kind}`} title={error === null ? undefined : plain(error)}>
      <i aria-hidden="true" /><span>{plain(state)}</span>
    </span>
  );
}

/** What the tools cost if a model saw them all, against what it sees of ours. */
function TokenLedger({ tokens }: { tokens: Tokens }) {
  const eager = tokens.servers.reduce((sum, row) => sum + (row.eager_tokens ?? 0), 0);
  const ours = tokens.ours.tools_list_tokens ?? 0;
  const most = Math.max(eager, ours, 1);
  const calls = [...tokens.calls].sort((a, b) => b.result_tokens - a.result_tokens).slice(0, 15);
  return (
    <>
      <h2>Tokens</h2>
      {eager === 0 && ours === 0 && <p class="muted">This program cannot count the tokens of tools: it was built without the feature <code>tokens</code>.</p>}
      {(eager > 0 || ours > 0) && <div class="ledger">
        <div><span>All tools, listed each</span><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="eager" width={(100 * eager) / most} height="10" /></svg><b>{count(eager)}</b></div>
        <div><span>Through the gateway</span><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="ours" width={(100 * ours) / most} height="10" /></svg><b>{count(ours)}</b></div>
      </div>}
      {eager > ours && ours > 0 && <p class="muted">A model that begins with the gateway's list reads {share(eager - ours, eager)} less.</p>}
      {calls.length > 0 && (
        <div class="table">
          <table>
            <thead><tr><th class="main">Operation</th><th class="number">Calls</th><th class="number" title="A quarter of the bytes of recorded results, unless whoever reported them has counted">Tokens of results, about</th><th class="number opt">A call</th></tr></thead>
            <tbody>
              {calls.map((row) => (
                <tr key={row.operation}>
                  <td class="main"><a data-row href={`/operations?operation=${encodeURIComponent(row.operation)}`}>{plain(row.operation)}</a></td>
                  <td class="number">{count(row.calls)}</td>
                  <td class="number">{count(row.result_tokens)}</td>
                  <td class="number opt">{count(row.calls > 0 ? row.result_tokens / row.calls : 0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
