/** Points of a plot that belong together. */

import type { LatencyPoint } from "../api/types.ts";

/** Points that follow each other. Where nothing was called for a step or longer there is no point, and no line either. */
export function runsOf(points: LatencyPoint[], step: number): LatencyPoint[][] {
  const runs: LatencyPoint[][] = [];
  let before = -Infinity;
  for (const point of points) {
    if (point.p50_us === null) continue;
    // Steps are not told to the microsecond.
    if (point.at_us - before > 1.5 * step) runs.push([]);
    runs[runs.length - 1]?.push(point);
    before = point.at_us;
  }
  return runs;
}
