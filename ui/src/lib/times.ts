import type { Choice } from "../parts/basic.tsx";

const MINUTES: Record<string, number> = { "15m": 15, "1h": 60, "6h": 360, "24h": 1440, "7d": 10_080 };

export const TIMES: Choice[] = [
  { value: "", label: "any" },
  { value: "15m", label: "last 15 minutes" },
  { value: "1h", label: "last hour" },
  { value: "6h", label: "last 6 hours" },
  { value: "24h", label: "last day" },
  { value: "7d", label: "last 7 days" },
];

/** How far apart the points of a plot over that time are: there are sixty of them, and none is shorter than a minute. */
export function stepOf(word: string): number {
  return Math.max(1, (MINUTES[word] ?? 0) / 60) * 60_000_000;
}

/** The beginning of a stretch of time that ends now. Whole minutes, so that the same question stays the same. */
export function sinceOf(word: string): number | null {
  const minutes = MINUTES[word];
  return minutes === undefined ? null : (Math.floor(Date.now() / 60_000) - minutes) * 60_000_000;
}
