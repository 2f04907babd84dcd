import { useEffect, useRef, useState } from "preact/hooks";
import type { LatencyPoint } from "../api/types.ts";
import { clock, count, duration } from "../lib/format.ts";
import { runsOf } from "../lib/runs.ts";

const HEIGHT = 180;
const RIGHT = 8;
const BOTTOM = 22;
const TOP = 10;
/** A letter of the axis is about so wide. */
const LETTER = 6;

const LINES = ["p99", "p95", "p50"] as const;

/** Latency over time: three percentiles as lines on a logarithmic scale, errors as marks below. Points are `step` microseconds apart. */
export function LatencyPlot({ points, step }: { points: LatencyPoint[]; step: number }) {
  const figure = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(720);
  useEffect(() => {
    const element = figure.current;
    if (!element) return;
    // As wide as there is room, so that letters keep their size.
    const observer = new ResizeObserver(([seen]) => seen && setWidth(Math.max(240, Math.round(seen.contentRect.width))));
    observer.observe(element);
    return () => observer.disconnect();
  }, [points.length > 0]);
  const values = points.flatMap((point) => [point.p50_us, point.p99_us]).filter((us): us is number => us !== null && us > 0);
  if (values.length === 0) return <p class="muted">No call in this time has an end to be shown.</p>;
  const low = 10 ** Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(10 ** Math.ceil(Math.log10(Math.max(...values))), low * 10);
  const levels: number[] = [];
  for (let level = low; level <= high * 1.001; level *= 10) levels.push(level);
  const left = 14 + LETTER * Math.max(...levels.map((level) => duration(level).length));
  const first = points[0]?.at_us ?? 0;
  // The last step is still under way.
  const latestAt = points[points.length - 1]?.at_us ?? 0;
  const last = Math.max(latestAt + 1, Math.min(latestAt + step, Date.now() * 1000));
  // A point stands in the middle of the time that it sums up.
  const x = (us: number): number => left + (((us + Math.min(us + step, last)) / 2 - first) / (last - first)) * (width - left - RIGHT);
  const y = (us: number): number => {
    const share = (Math.log10(Math.max(us, low)) - Math.log10(low)) / (Math.log10(high) - Math.log10(low));
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);
  };
  const runs = runsOf(points, step);
  const latest = points.findLast((point) => point.p50_us !== null);
  const told = latest
    ? `Latest: p50 ${duration(latest.p50_us)}, p95 ${duration(latest.p95_us)}, p99 ${duration(latest.p99_us)}.`
    : "";
  const failed = points.reduce((sum, point) => sum + point.errors, 0);
  return (
    <figure ref={figure} class="plot">
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`Latency over time. ${told} ${count(failed)} errors.`}>
        {levels.map((level) => (
          <g key={level}>
            <line class="grid" x1={left} x2={width - RIGHT} y1={y(level)} y2={y(level)} />
            <text x={left - 8} y={y(level) + 4} text-anchor="end">{duration(level)}</text>
          </g>
        ))}
        {points.map((point) =>
          point.errors > 0 ? (
            <rect key={point.at_us} class="failed" x={x(point.at_us) - 2} y={HEIGHT - BOTTOM - 6} width="4" height="6">
              <title>{`${count(point.errors)} of ${count(point.calls)} failed, ${clock(point.at_us)}`}</title>
            </rect>
          ) : null,
        )}
        {LINES.map((name) => (
          <g key={name}>
            {runs.map((run) => {
              const places = run.map((point) => [x(point.at_us), y(point[`${name}_us`] ?? low)] as const);
              const [only] = places;
              if (places.length === 1 && only) return <circle key={run[0]?.at_us} class={name} cx={only[0]} cy={only[1]} r="3.5" />;
              return <path key={run[0]?.at_us} class={name} d={places.map(([across, down], index) => `${index === 0 ? "M" : "L"}${across.toFixed(1)} ${down.toFixed(1)}`).join("")} />;
            })}
          </g>
        ))}
        <text x={left} y={HEIGHT - 5}>{clock(first)}</text>
        <text x={width - RIGHT} y={HEIGHT - 5} text-anchor="end">{clock(last)}</text>
      </svg>
      <figcaption>
        <PercentilesKey /> <span class="key failed">errors</span>
        {points.length === 1 && <span>All of it within {duration(step)}. A shorter time shows more.</span>}
      </figcaption>
    </figure>
  );
}

export function PercentilesKey() {
  return <><span class="key p50">p50</span> <span class="key p95">p95</span> <span class="key p99">p99</span> <span>logarithmic scale</span></>;
}

/** The three percentiles of one row beside each other, to be compared down a table. */
export function Percentiles({ row, most }: { row: { p50_us: number | null; p95_us: number | null; p99_us: number | null }; most: number }) {
  const wide = (us: number | null): number =>
    us === null || us <= 0 || most <= 1 ? 0 : Math.max(1, (Math.log10(Math.max(us, 1)) / Math.log10(most)) * 100);
  const told = `p50 ${duration(row.p50_us)}, p95 ${duration(row.p95_us)}, p99 ${duration(row.p99_us)}`;
  return (
    <svg class="percentiles" viewBox="0 0 100 14" preserveAspectRatio="none" role="img" aria-label={told}>
      <title>{told}</title>
      <rect class="p99" x="0" y="2" width={wide(row.p99_us)} height="10" />
      <rect class="p95" x="0" y="2" width={wide(row.p95_us)} height="10" />
      <rect class="p50" x="0" y="2" width={wide(row.p50_us)} height="10" />
    </svg>
  );
}
