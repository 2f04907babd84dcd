/** Where things stand in the waterfall: time to pixels and back, and the steps of the axis. */

import { step } from "../lib/format.ts";

/** The part of the time that is shown, in microseconds from the trace's origin. */
export interface Window {
  from: number;
  to: number;
}

const NARROWEST_US = 10;

export function whole(end: number): Window {
  return { from: 0, to: Math.max(end, 1) };
}

export interface Bar {
  x: number;
  width: number;
  /** Where the part begins in which it waited for somebody, if it did. */
  waitWidth: number;
}

/** The bar of a span between `left` and `left + width`, or null if nothing of it is in the window. At least 2 wide. */
export function bar(
  window: Window,
  left: number,
  width: number,
  start: number,
  duration: number,
  waited: number,
): Bar | null {
  const span = window.to - window.from;
  const from = Math.max(start, window.from);
  const to = Math.min(start + duration, window.to);
  if (to < window.from || from > window.to) return null;
  const x = left + ((from - window.from) / span) * width;
  const drawn = Math.max(2, ((to - from) / span) * width);
  const part = duration > 0 ? Math.min(1, waited / duration) : 0;
  return { x: Math.min(x, left + width - 2), width: drawn, waitWidth: drawn * part };
}

/** Zooms around a point that stays where it is. `factor` below 1 goes in. */
export function zoom(window: Window, end: number, around: number, factor: number): Window {
  const full = whole(end);
  const span = Math.min(Math.max((window.to - window.from) * factor, NARROWEST_US), full.to);
  const share = (around - window.from) / (window.to - window.from);
  return clamp({ from: around - share * span, to: around - share * span + span }, end);
}

export function pan(window: Window, end: number, by: number): Window {
  return clamp({ from: window.from + by, to: window.to + by }, end);
}

function clamp(window: Window, end: number): Window {
  const full = whole(end);
  const span = Math.min(window.to - window.from, full.to);
  const from = Math.min(Math.max(window.from, 0), full.to - span);
  return { from, to: from + span };
}

export interface Tick {
  x: number;
  at: number;
}

export function ticks(window: Window, left: number, width: number): Tick[] {
  const span = window.to - window.from;
  if (!(span > 0) || width < 40) return [];
  const every = step(span, Math.max(2, Math.floor(width / 85)));
  const found: Tick[] = [];
  for (let at = Math.ceil(window.from / every) * every; at <= window.to + every * 1e-9; at += every) {
    found.push({ x: left + ((at - window.from) / span) * width, at });
    if (found.length > 200) break;
  }
  return found;
}

/** How many spans run in each of `buckets` parts of the whole time, and in which of them something failed. */
export function density(
  starts: Float64Array,
  durations: Float64Array,
  statuses: Uint8Array,
  failed: number,
  end: number,
  buckets: number,
): { running: Uint32Array; errors: Uint8Array; most: number } {
  const changes = new Int32Array(buckets + 1);
  const errors = new Uint8Array(buckets);
  const scale = buckets / Math.max(end, 1);
  const bucket = (at: number): number => Math.min(buckets - 1, Math.max(0, Math.floor(at * scale)));
  for (let i = 0; i < starts.length; i++) {
    const start = starts[i] as number;
    const length = durations[i] as number;
    const first = bucket(start);
    const last = bucket(length < 0 ? end : start + length);
    changes[first] = (changes[first] as number) + 1;
    changes[last + 1] = (changes[last + 1] as number) - 1;
    if (statuses[i] === failed) errors[last] = 1;
  }
  const running = new Uint32Array(buckets);
  let now = 0;
  let most = 0;
  for (let i = 0; i < buckets; i++) {
    now += changes[i] as number;
    running[i] = now;
    most = Math.max(most, now);
  }
  return { running, errors, most };
}

const INDENT = 14;
const MARGIN = 6;
/** So much is left for names even in a narrow column. */
const NAME = 150;

/** How far a row of the tree stands to the right. At least half of the column stays for names, however deep they are. */
export function indent(depth: number, column: number): { left: number; isDeeper: boolean } {
  const levels = Math.max(0, Math.floor((Math.min(column / 2, column - NAME) - MARGIN) / INDENT));
  return { left: MARGIN + Math.min(depth, levels) * INDENT, isDeeper: depth > levels };
}
