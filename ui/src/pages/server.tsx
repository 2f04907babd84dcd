import { useState } from "preact/hooks";
import type { Drift, OperationStats, ServerFull } from "../api/types.ts";
import { ago, count, duration, plain, share } from "../lib/format.ts";
import { useLoad, useTitle } from "../lib/hooks.ts";
import { changeQuery, usePlace } from "../lib/router.ts";
import { sinceOf, stepOf, TIMES } from "../lib/times.ts";
import { Command, Empty, Loading, ProblemNote, ReportedMark, Select } from "../parts/basic.tsx";
import { pretty } from "../parts/code.tsx";
import { LatencyPlot, Percentiles, PercentilesKey } from "../parts/plot.tsx";
import { State } from "./servers.tsx";
import "../style/servers.css";

type Column = "operation" | "calls" | "errors" | "p50_us" | "p95_us" | "p99_us" | "tokens";

const COLUMNS: [Column, string, boolean][] = [
  ["operation", "Operation", false],
  ["calls", "Calls", false],
  ["errors", "Errors", false],
  ["p50_us", "p50", false],
  ["p95_us", "p95", false],
  ["p99_us", "p99", true],
  ["tokens", "Tokens, about", true],
];

export default function Server() {
  const { path, query } = usePlace();
  const name = path[1] ?? "";
  useTitle(name);
  const time = query.get("time") ?? "24h";
  const load = useLoad<ServerFull>(`servers/${encodeURIComponent(name)}`, { since_us: sinceOf(time) }, 5000);
  const { data } = load;
  return (
    <section class="page">
      <div class="bar">
        <h1><a href="/servers">Servers</a> / {plain(name)}</h1>
        {data && <State state={data.server.state} error={data.server.error ?? null} />}
        {data && <ReportedMark reported={data.server.reported === true} />}
        <Select label="Time" value={time} choices={TIMES.filter((one) => one.value)} onChange={(value) => changeQuery({ time: value })} />
      </div>
      {load.problem?.status === 404 ? (
        <Empty title="No such server"><p>Nothing was recorded of it, and it is not configured. <a href="/servers">All servers</a></p></Empty>
      ) : (
        <ProblemNote problem={load.problem} again={load.again} />
      )}
      {!data && !load.problem && <Loading what="the server" />}
      {data?.server.error && <p class="error-text" role="note">It failed last: {plain(data.server.error)}</p>}
      {data && (
        <>
          <dl class="figures">
            <div><dt>Calls</dt><dd>{count(data.server.calls)}</dd></div>
            <div class={data.server.errors > 0 ? "bad" : ""}><dt>Errors</dt><dd>{count(data.server.errors)} <small>{share(data.server.errors, data.server.calls)}</small></dd></div>
            <div><dt>p50</dt><dd>{duration(data.server.p50_us)}</dd></div>
            <div><dt>p95</dt><dd>{duration(data.server.p95_us)}</dd></div>
            <div><dt>p99</dt><dd>{duration(data.server.p99_us)}</dd></div>
            <div><dt>Tools</dt><dd>{count(data.server.tools)}</dd></div>
            <div><dt>Last call</dt><dd>{ago(data.server.last_us)}</dd></div>
          </dl>
          <LatencyPlot points={data.latency} step={stepOf(time)} />
          {data.drift.length > 0 && <DriftList name={name} drift={data.drift} />}
          <Operations server={name} rows={data.operations} />
        </>
      )}
    </section>
  );
}

function Operations({ server, rows }: { server: string; rows: OperationStats[] }) {
  const [by, setBy] = useState<{ column: Column; isDown: boolean }>({ column: "calls", isDown: true });
  const most = Math.max(10, ...rows.map((row) => row.p99_us ?? 0));
  const sorted = [...rows].sort((a, b) => {
    const [left, right] = [a[by.column] ?? -1, b[by.column] ?? -1];
    const order = typeof left === "string" ? left.localeCompare(String(right)) : left - Number(right);
    return by.isDown ? -order : order;
  });
  if (rows.length === 0) return <Empty title="No calls in this time"><p>Choose a longer time, or call something of it:</p><Command>aqueduct ops</Command></Empty>;
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            {COLUMNS.map(([column, label, isOptional]) => (
              <th key={column} class={`${column === "operation" ? "main" : "number"} ${isOptional ? "opt" : ""}`} aria-sort={by.column === column ? (by.isDown ? "descending" : "ascending") : undefined}>
                <button type="button" class="sort" onClick={() => setBy({ column, isDown: by.column === column ? !by.isDown : column !== "operation" })}>
                  {label}{by.column === column ? (by.isDown ? " ↓" : " ↑") : ""}
                </button>
              </th>
            ))}
            <th class="opt">Latency</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={row.operation}>
              <td class="main"><a data-row href={`/operations?server=${encodeURIComponent(server)}&operation=${encodeURIComponent(row.operation)}`}>{plain(row.operation)}</a></td>
              <td class="number">{count(row.calls)}</td>
              <td class={`number ${row.errors > 0 ? "error-text" : "muted"}`}>{share(row.errors, row.calls)}</td>
              <td class="number">{duration(row.p50_us)}</td>
              <td class="number">{duration(row.p95_us)}</td>
              <td class="number opt">{duration(row.p99_us)}</td>
              <td class="number opt">{count(row.tokens)}</td>
              <td class="opt"><Percentiles row={row} most={most} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="legend opt"><span>Latency:</span> <PercentilesKey /></p>
    </div>
  );
}

const BEFORE = ["before", "old", "was", "from", "pinned"];
const AFTER = ["after", "new", "is", "to", "now"];

/** Definitions that are not what they were. The old ones hold until somebody accepts the new. */
function DriftList({ name, drift }: { name: string; drift: Drift[] }) {
  return (
    <section class="drift" aria-label="Changed definitions">
      <h2>Changed definitions</h2>
      <p>These tools are held back as they were seen first. Look at what changed, then accept it:</p>
      <Command>{`aqueduct discover ${name} --accept`}</Command>
      {drift.map(({ tool, changes }) => (
        <details key={tool} open={drift.length < 4}>
          <summary><b>{plain(tool)}</b> <span class="muted">{count(changes.length)} {changes.length === 1 ? "change" : "changes"}</span></summary>
          {changes.map((change, index) => <Change key={index} change={change} />)}
        </details>
      ))}
    </section>
  );
}

function Change({ change }: { change: Drift["changes"][number] }) {
  const { path, ...rest } = change;
  const pick = (names: string[]): [string, unknown] | undefined => Object.entries(rest).find(([key]) => names.includes(key));
  const before = pick(BEFORE);
  const after = pick(AFTER);
  const others = Object.entries(rest).filter(([key]) => key !== before?.[0] && key !== after?.[0]);
  return (
    <div class="change">
      <p><code>{plain(path ?? "definition")}</code>{others.map(([key, value]) => <span key={key} class="muted"> {plain(key)}: {plain(typeof value === "string" ? value : JSON.stringify(value))}</span>)}</p>
      {before && <pre class="minus">{prefixed("− ", before[1])}</pre>}
      {after && <pre class="plus">{prefixed("+ ", after[1])}</pre>}
    </div>
  );
}

function prefixed(mark: string, value: unknown): string {
  return plain(pretty(value).text).split("\n").map((line) => mark + line).join("\n");
}
