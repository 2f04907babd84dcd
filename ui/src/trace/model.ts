/**
 * A trace in columns, which go from the worker to the page without being copied. Rows are numbered in the order of the tree: parents before their children, children by
 * their start.
 */

import { ERROR, Of, RUNNING, type Table, WAITING } from "./table.ts";

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

/** The tree of what is known so far. Circles and parents that are missing make roots. */
export function build(table: Table, now: number): Columns {
  const n = table.length;
  const parents = new Int32Array(n).fill(-1);
  let orphans = 0;
  for (let i = 0; i < n; i++) {
    const [high, low] = [table.at(Of.ParentHigh, i), table.at(Of.ParentLow, i)];
    // An id of nothing but zeros means that there is none.
    if (high === 0 && low === 0) continue;
    const found = table.rowOf(high, low);
    if (found === -1) orphans += 1;
    else if (found !== i) parents[i] = found;
  }
  return fill(table, parents, ordered(table, parents), orphans, now);
}

/** All rows, parents first, then by start. */
function ordered(table: Table, parents: Int32Array): Uint32Array {
  const n = table.length;
  const started = table.columns[Of.Started] as Float64Array;
  const byStart = new Uint32Array(n);
  let isSorted = true;
  for (let i = 0; i < n; i++) {
    byStart[i] = i;
    if (i > 0 && (started[i] as number) < (started[i - 1] as number)) isSorted = false;
  }
  if (!isSorted) byStart.sort((a, b) => (started[a] as number) - (started[b] as number) || a - b);
  // Children as linked lists in the order of their start.
  const firstChild = new Int32Array(n + 1).fill(-1);
  const lastChild = new Int32Array(n + 1).fill(-1);
  const next = new Int32Array(n).fill(-1);
  const append = (parent: number, child: number): void => {
    if (firstChild[parent] === -1) firstChild[parent] = child;
    else next[lastChild[parent] as number] = child;
    lastChild[parent] = child;
  };
  for (const i of byStart) append(parents[i] === -1 ? n : (parents[i] as number), i);
  const order = new Uint32Array(n);
  const seen = new Uint8Array(n);
  let count = 0;
  const walk = (root: number): void => {
    const stack = [root];
    while (stack.length > 0) {
      const row = stack.pop() as number;
      if (seen[row] === 1) continue;
      seen[row] = 1;
      order[count++] = row;
      const from = stack.length;
      for (let child = firstChild[row] as number; child !== -1; child = next[child] as number) stack.push(child);
      reverse(stack, from);
    }
  };
  for (let root = firstChild[n] as number; root !== -1; root = next[root] as number) walk(root);
  // What is left goes round in a circle. It begins with what began first.
  if (count < n) {
    for (const row of byStart) {
      if (seen[row] === 0) {
        parents[row] = -1;
        walk(row);
      }
    }
  }
  return order;
}

function reverse(list: number[], from: number): void {
  for (let i = from, j = list.length - 1; i < j; i++, j--) {
    const swapped = list[i] as number;
    list[i] = list[j] as number;
    list[j] = swapped;
  }
}

function fill(table: Table, parents: Int32Array, order: Uint32Array, orphans: number, now: number): Columns {
  const n = table.length;
  const started = table.columns[Of.Started] as Float64Array;
  let origin = n === 0 ? 0 : Infinity;
  for (let i = 0; i < n; i++) origin = Math.min(origin, started[i] as number);
  const put = <To extends Float64Array | Uint32Array | Uint8Array>(to: To, of: Of): To => {
    const from = table.columns[of] as Float64Array;
    for (let i = 0; i < n; i++) to[i] = from[order[i] as number] as number;
    return to;
  };
  const numbers = (of: Of): Uint32Array => put(new Uint32Array(n), of);
  const columns: Columns = {
    length: n,
    start: put(new Float64Array(n), Of.Started),
    duration: put(new Float64Array(n), Of.Duration),
    waited: put(new Float64Array(n), Of.Waited),
    status: put(new Uint8Array(n), Of.Status),
    depth: new Uint16Array(n),
    parent: new Int32Array(n),
    below: new Uint32Array(n),
    failed: new Uint8Array(n),
    idHigh: numbers(Of.IdHigh),
    idLow: numbers(Of.IdLow),
    name: numbers(Of.Name),
    operation: numbers(Of.Operation),
    peer: numbers(Of.Peer),
    agent: numbers(Of.Agent),
    kind: numbers(Of.Kind),
    trace: numbers(Of.Trace),
    error: numbers(Of.Error),
    orphans,
    words: table.words.slice(),
    origin,
    end: 0,
    errors: 0,
    open: 0,
  };
  const place = new Uint32Array(n);
  for (let i = 0; i < n; i++) place[order[i] as number] = i;
  for (let i = 0; i < n; i++) {
    const parent = parents[order[i] as number] as number;
    const above = parent === -1 ? -1 : (place[parent] as number);
    columns.parent[i] = above;
    columns.depth[i] = above === -1 ? 0 : Math.min((columns.depth[above] as number) + 1, 65_535);
    const status = columns.status[i] as number;
    const start = (columns.start[i] as number) - origin;
    columns.start[i] = start;
    const isOpen = status === RUNNING || status === WAITING;
    const known = columns.duration[i] as number;
    const lasts = known >= 0 ? known : isOpen ? Math.max(0, now - origin - start) : 0;
    columns.end = Math.max(columns.end, start + lasts);
    if (isOpen) columns.open += 1;
    if (status === ERROR) {
      columns.errors += 1;
      columns.failed[i] = 1;
    }
  }
  for (let i = n - 1; i >= 0; i--) {
    const above = columns.parent[i] as number;
    if (above === -1) continue;
    columns.below[above] = (columns.below[above] as number) + (columns.below[i] as number) + 1;
    if (columns.failed[i] === 1) columns.failed[above] = 1;
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
    if (collapsed.size > 0 && collapsed.has(i)) i += below[i] as number;
  }
  return rows.subarray(0, count);
}

export function spanId(columns: Columns, row: number): string {
  const half = (value: number): string => value.toString(16).padStart(8, "0");
  return half(columns.idHigh[row] as number) + half(columns.idLow[row] as number);
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
