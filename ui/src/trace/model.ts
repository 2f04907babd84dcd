/**
 * A trace in columns. 100,000 objects cost a browser more than 100,000 numbers in arrays, and arrays go from the worker to
 * the page without being copied. Rows are numbered in the order of the tree: parents before their children, children by
 * their start.
 */

import type { SpanRow, Status } from "../api/types.ts";

export const STATUSES: readonly Status[] = ["running", "waiting", "ok", "error", "cancelled"];
export const RUNNING = 0;
export const WAITING = 1;
export const ERROR = 3;

export interface Columns {
  length: number;
  /** Microseconds from `origin`. */
  start: Float64Array;
  /** -1 while it runs. */
  duration: Float64Array;
  waited: Float64Array;
  status: Uint8Array;
  depth: Uint16Array;
  /** The row of the parent, or -1. */
  parent: Int32Array;
  /** How many rows below belong to it. */
  below: Uint32Array;
  /** Whether it, or anything below it, failed. */
  failed: Uint8Array;
  /** Ids as two halves each. */
  idHigh: Uint32Array;
  idLow: Uint32Array;
  /** Numbers of words. */
  name: Uint32Array;
  operation: Uint32Array;
  peer: Uint32Array;
  agent: Uint32Array;
  kind: Uint32Array;
  trace: Uint32Array;
  error: Uint32Array;
  /** Rows whose parent is named but not there. */
  orphans: number;
  words: string[];
  origin: number;
  /** The end of what is known, from `origin`. */
  end: number;
  errors: number;
  open: number;
}

export class Builder {
  private readonly words = new Map<string, number>([["", 0]]);
  private readonly rows: Packed[] = [];
  private readonly known = new Map<string, number>();

  get length(): number {
    return this.rows.length;
  }

  add(rows: SpanRow[]): void {
    for (const row of rows) {
      const packed: Packed = {
        id: row.span_id,
        parent: row.parent_id ?? "",
        started: row.started_us,
        duration: row.duration_us ?? -1,
        waited: row.waited_us,
        status: Math.max(0, STATUSES.indexOf(row.status)),
        name: this.word(row.name),
        operation: this.word(row.operation ?? row.tool ?? ""),
        peer: this.word(row.peer ?? ""),
        agent: this.word(row.agent ?? ""),
        kind: this.word(row.kind),
        trace: this.word(row.trace_id),
        error: this.word(row.error ?? ""),
      };
      const key = row.span_id;
      const before = this.known.get(key);
      if (before === undefined) {
        this.known.set(key, this.rows.length);
        this.rows.push(packed);
      } else this.rows[before] = packed;
    }
  }

  private word(text: string): number {
    const known = this.words.get(text);
    if (known !== undefined) return known;
    this.words.set(text, this.words.size);
    return this.words.size - 1;
  }

  /** The tree of what was added so far. Circles and parents that are missing make roots. */
  build(now: number): Columns {
    const { rows, known } = this;
    const n = rows.length;
    const parents = new Int32Array(n).fill(-1);
    let orphans = 0;
    for (let i = 0; i < n; i++) {
      const { parent } = at(rows, i);
      if (parent === "") continue;
      const found = known.get(parent);
      if (found === undefined) orphans += 1;
      else if (found !== i) parents[i] = found;
    }
    const order = ordered(rows, parents);
    return fill(rows, parents, order, orphans, [...this.words.keys()], now);
  }
}

interface Packed {
  id: string;
  parent: string;
  started: number;
  duration: number;
  waited: number;
  status: number;
  name: number;
  operation: number;
  peer: number;
  agent: number;
  kind: number;
  trace: number;
  error: number;
}

function at<T>(list: ArrayLike<T>, index: number): T {
  return list[index] as T;
}

/** All rows, parents first, then by start. */
function ordered(rows: Packed[], parents: Int32Array): Uint32Array {
  const n = rows.length;
  const byStart = new Uint32Array(n);
  let isSorted = true;
  for (let i = 0; i < n; i++) {
    byStart[i] = i;
    if (i > 0 && at(rows, i).started < at(rows, i - 1).started) isSorted = false;
  }
  if (!isSorted) byStart.sort((a, b) => at(rows, a).started - at(rows, b).started || a - b);
  // Children as linked lists in the order of their start.
  const firstChild = new Int32Array(n + 1).fill(-1);
  const lastChild = new Int32Array(n + 1).fill(-1);
  const next = new Int32Array(n).fill(-1);
  const append = (parent: number, child: number): void => {
    if (at(firstChild, parent) === -1) firstChild[parent] = child;
    else next[at(lastChild, parent)] = child;
    lastChild[parent] = child;
  };
  for (const i of byStart) append(at(parents, i) === -1 ? n : at(parents, i), i);
  const order = new Uint32Array(n);
  const seen = new Uint8Array(n);
  let count = 0;
  const walk = (root: number): void => {
    const stack = [root];
    while (stack.length > 0) {
      const row = stack.pop() as number;
      if (at(seen, row) === 1) continue;
      seen[row] = 1;
      order[count++] = row;
      const from = stack.length;
      for (let child = at(firstChild, row); child !== -1; child = at(next, child)) stack.push(child);
      reverse(stack, from);
    }
  };
  for (let root = at(firstChild, n); root !== -1; root = at(next, root)) walk(root);
  // What is left goes round in a circle. It begins with what began first.
  if (count < n) {
    for (const row of byStart) {
      if (at(seen, row) === 0) {
        parents[row] = -1;
        walk(row);
      }
    }
  }
  return order;
}

function reverse(list: number[], from: number): void {
  for (let i = from, j = list.length - 1; i < j; i++, j--) {
    const swapped = at(list, i);
    list[i] = at(list, j);
    list[j] = swapped;
  }
}

function fill(
  rows: Packed[],
  parents: Int32Array,
  order: Uint32Array,
  orphans: number,
  words: string[],
  now: number,
): Columns {
  const n = rows.length;
  let origin = Infinity;
  for (const row of rows) origin = Math.min(origin, row.started);
  if (n === 0) origin = 0;
  const columns: Columns = {
    length: n,
    start: new Float64Array(n),
    duration: new Float64Array(n),
    waited: new Float64Array(n),
    status: new Uint8Array(n),
    depth: new Uint16Array(n),
    parent: new Int32Array(n),
    below: new Uint32Array(n),
    failed: new Uint8Array(n),
    idHigh: new Uint32Array(n),
    idLow: new Uint32Array(n),
    name: new Uint32Array(n),
    operation: new Uint32Array(n),
    peer: new Uint32Array(n),
    agent: new Uint32Array(n),
    kind: new Uint32Array(n),
    trace: new Uint32Array(n),
    error: new Uint32Array(n),
    orphans,
    words,
    origin,
    end: 0,
    errors: 0,
    open: 0,
  };
  const place = new Uint32Array(n);
  for (let i = 0; i < n; i++) place[at(order, i)] = i;
  for (let i = 0; i < n; i++) {
    const row = at(rows, at(order, i));
    const parent = at(parents, at(order, i));
    const above = parent === -1 ? -1 : at(place, parent);
    columns.start[i] = row.started - origin;
    columns.duration[i] = row.duration;
    columns.waited[i] = row.waited;
    columns.status[i] = row.status;
    columns.parent[i] = above;
    columns.depth[i] = above === -1 ? 0 : Math.min(at(columns.depth, above) + 1, 65_535);
    columns.idHigh[i] = parseInt(row.id.slice(0, 8), 16) || 0;
    columns.idLow[i] = parseInt(row.id.slice(8, 16), 16) || 0;
    columns.name[i] = row.name;
    columns.operation[i] = row.operation;
    columns.peer[i] = row.peer;
    columns.agent[i] = row.agent;
    columns.kind[i] = row.kind;
    columns.trace[i] = row.trace;
    columns.error[i] = row.error;
    const isOpen = row.status === RUNNING || row.status === WAITING;
    const lasts = row.duration >= 0 ? row.duration : isOpen ? Math.max(0, now - row.started) : 0;
    columns.end = Math.max(columns.end, row.started - origin + lasts);
    if (isOpen) columns.open += 1;
    if (row.status === ERROR) {
      columns.errors += 1;
      columns.failed[i] = 1;
    }
  }
  for (let i = n - 1; i >= 0; i--) {
    const above = at(columns.parent, i);
    if (above === -1) continue;
    columns.below[above] = at(columns.below, above) + at(columns.below, i) + 1;
    if (at(columns.failed, i) === 1) columns.failed[above] = 1;
  }
  return columns;
}

/** The arrays in columns, which may change hands instead of being copied. */
export function buffers(columns: Columns): ArrayBuffer[] {
  return Object.values(columns).flatMap((value) => (ArrayBuffer.isView(value) ? [value.buffer as ArrayBuffer] : []));
}

/** The rows that show when some are collapsed, by their numbers. */
export function visible(columns: Columns, collapsed: ReadonlySet<number>): Uint32Array {
  const { length, below } = columns;
  const rows = new Uint32Array(length);
  let count = 0;
  for (let i = 0; i < length; i++) {
    rows[count++] = i;
    if (collapsed.size > 0 && collapsed.has(i)) i += at(below, i);
  }
  return rows.subarray(0, count);
}

export function spanId(columns: Columns, row: number): string {
  const half = (value: number): string => value.toString(16).padStart(8, "0");
  return half(at(columns.idHigh, row)) + half(at(columns.idLow, row));
}

export function rowOf(columns: Columns, id: string): number {
  const high = parseInt(id.slice(0, 8), 16);
  const low = parseInt(id.slice(8, 16), 16);
  for (let i = 0; i < columns.length; i++) {
    if (columns.idHigh[i] === high && columns.idLow[i] === low) return i;
  }
  return -1;
}

export function word(columns: Columns, number: number | undefined): string {
  return columns.words[number ?? 0] ?? "";
}

/** Rows that a search text fits. Words are looked at once each, not once for every row. */
export function matching(columns: Columns, text: string, failedOnly: boolean): Uint8Array | null {
  const wanted = text.trim().toLowerCase();
  if (wanted === "" && !failedOnly) return null;
  const fits = columns.words.map((known) => (known.toLowerCase().includes(wanted) ? 1 : 0));
  const rows = new Uint8Array(columns.length);
  for (let i = 0; i < columns.length; i++) {
    if (failedOnly && columns.status[i] !== ERROR) continue;
    const texts = [columns.name[i], columns.operation[i], columns.peer[i], columns.agent[i], columns.error[i]];
    if (wanted === "" || texts.some((number) => fits[number ?? 0] === 1)) rows[i] = 1;
  }
  return rows;
}
