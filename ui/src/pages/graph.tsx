import { useMemo, useRef } from "preact/hooks";
import type { Graph, GraphEdge } from "../api/types.ts";
import { count, duration, plain } from "../lib/format.ts";
import { useLoad, useTitle, useWidth } from "../lib/hooks.ts";
import { layout, NODE_HEIGHT } from "../lib/layers.ts";
import { changeQuery, to, usePlace } from "../lib/router.ts";
import { sinceOf, TIMES } from "../lib/times.ts";
import { Empty, FirstTraffic, Loading, ProblemNote, Select } from "../parts/basic.tsx";
import "../style/graph.css";

/** The frame around the picture, left and right together. */
const FRAME = 20;
/** Between a node's edge and its text. */
const PADDING = 12;
/** No node has room for more. */
const LETTERS_MAX = 40;

const KINDS: Record<string, string> = { client: "client", agent: "agent", server: "server" };

export default function CallGraph() {
  useTitle("Call graph");
  const { query } = usePlace();
  const time = query.get("time") ?? "24h";
  const load = useLoad<Graph>("graph", { since_us: sinceOf(time) }, 5000);
  const asked = query.get("node");
  const chosen = load.data?.nodes.some(({ id }) => id === asked) ? asked : null;
  const setChosen = (id: string | null): void => changeQuery({ node: id });
  const section = useRef<HTMLElement>(null);
  const wide = useWidth(section);
  const drawn = useMemo(() => (load.data && wide > 0 ? layout(load.data, wide - FRAME) : null), [load.data, wide]);
  const labels = new Map(load.data?.nodes.map((node) => [node.id, node.label]));
  const most = Math.max(1, ...(load.data?.edges.map((edge) => edge.calls) ?? []));
  const isNear = (edge: GraphEdge): boolean => chosen === null || edge.from === chosen || edge.to === chosen;
  const edges = [...(load.data?.edges ?? [])].filter(isNear).sort((a, b) => b.calls - a.calls);
  const linkOf = (id: string): string | null => {
    const node = load.data?.nodes.find((one) => one.id === id);
    if (!node) return null;
    return node.kind === "server" ? to.server(node.label) : node.kind === "agent" ? `/sessions?agent=${encodeURIComponent(node.label)}` : null;
  };
  return (
    <section ref={section} class="page">
      <div class="bar">
        <h1>Call graph</h1>
        <Select label="Time" value={time} choices={TIMES.filter((one) => one.value)} onChange={(value) => changeQuery({ time: value })} />
        {chosen !== null && <button type="button" onClick={() => setChosen(null)}>Show all</button>}
      </div>
      <ProblemNote problem={load.problem} again={load.again} />
      {!load.data && !load.problem && <Loading what="the graph" />}
      {load.data && load.data.nodes.length === 0 && <Empty title="Nobody called anybody in this time"><FirstTraffic /></Empty>}
      {drawn && drawn.nodes.length > 0 && (
        <div class="graph" role="group" aria-label="Who calls whom. The table below says the same.">
          <svg viewBox={`0 0 ${drawn.width} ${drawn.height}`} width={drawn.width} height={drawn.height}>
            <defs>
              <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" /></marker>
            </defs>
            {drawn.edges.map((edge) => (
              <g key={`${edge.from}\n${edge.to}`} class={`edge ${edge.errors > 0 ? "failing" : ""} ${isNear(edge) ? "" : "far"}`}>
                <path d={edge.path} stroke-width={1 + 3 * Math.sqrt(edge.calls / most)} marker-end="url(#arrow)" />
              </g>
            ))}
            {drawn.nodes.map((node) => {
              const label = plain(node.label);
              const short = fitting(label, drawn.nodeWidth - 2 * PADDING);
              const isWhole = short === label;
              return (
                <g
                  key={node.id}
                  class={`node ${KINDS[node.kind] ?? ""} ${chosen === node.id ? "chosen" : ""}`}
                  transform={`translate(${node.x} ${node.y})`}
                  tabIndex={0}
                  data-row
                  role="button"
                  aria-pressed={chosen === node.id}
                  aria-label={isWhole ? `${node.kind} ${label}` : `${label} ${node.kind} ${short}`}
                  onClick={() => setChosen(chosen === node.id ? null : node.id)}
                  onKeyDown={(event) => {
                    if (event.key !== "Enter" && event.key !== " ") return;
                    event.preventDefault();
                    setChosen(chosen === node.id ? null : node.id);
                  }}
                >
                  {!isWhole && <title>{`${label} `}</title>}
                  <rect width={drawn.nodeWidth} height={NODE_HEIGHT} rx="8" />
                  <text x={PADDING} y="18" class="kind">{`${node.kind} `}</text>
                  <text x={PADDING} y="34">{short}</text>
                </g>
              );
            })}
            {drawn.edges.map((edge) => (
              <text key={`${edge.from}\n${edge.to}`} class={`label ${isNear(edge) ? "" : "far"}`} x={edge.labelX} y={edge.labelY - 5} text-anchor="middle">
                {count(edge.calls)}
                {edge.errors > 0 && <tspan class="failed"> ✕{count(edge.errors)}</tspan>}
              </text>
            ))}
          </svg>
        </div>
      )}
      {edges.length > 0 && (
        <div class="table">
          <table class="edges">
            <thead><tr><th class="main">From</th><th class="main">To</th><th class="number">Calls</th><th class="number opt">Errors</th><th class="number opt">p50</th><th class="number">p95</th></tr></thead>
            <tbody>
              {edges.map((edge) => (
                <tr key={`${edge.from}\n${edge.to}`}>
                  {[edge.from, edge.to].map((id) => {
                    const link = linkOf(id);
                    const label = plain(labels.get(id) ?? id);
                    return <td key={id} class="main">{link ? <a data-row href={link}>{label}</a> : label}</td>;
                  })}
                  <td class="number">
                    {count(edge.calls)}
                    {edge.errors > 0 && <div class="narrow error-text" aria-label={`${count(edge.errors)} failed`}>✕{count(edge.errors)}</div>}
                  </td>
                  <td class={`number opt ${edge.errors > 0 ? "error-text" : "muted"}`}>{count(edge.errors)}</td>
                  <td class="number opt">{duration(edge.p50_us)}</td>
                  <td class="number">{duration(edge.p95_us)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

const pen = document.createElement("canvas").getContext("2d");

/** As much of a text as goes into a node. */
function fitting(text: string, wide: number): string {
  if (!pen) return text;
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  if (pen.measureText(text).width <= wide) return text;
  const letters = [...text.slice(0, LETTERS_MAX)];
  while (letters.length > 1 && pen.measureText(`${letters.join("")}…`).width > wide) letters.pop();
  return `${letters.join("")}…`;
}
