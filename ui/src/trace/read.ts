/**
 * What is kept of the spans in an answer. Those of a trace come in columns, a line of JSON for each block of spans; those of
 * a session are rows, and some thousand at the most.
 */

import type { SpanBlock, SpanRow, TraceEnd } from "../api/types.ts";
import { Of, STATUSES, Table } from "./table.ts";

const NEWLINE = "\n";
const ID_DIGITS = 16;
const NO_ID = "0".repeat(ID_DIGITS);

/** Columns of a block that hold numbers of words. */
const TEXTS = [
  ["name", Of.Name],
  ["operation", Of.Operation],
  ["tool", Of.Tool],
  ["peer", Of.Peer],
  ["agent", Of.Agent],
  ["kind", Of.Kind],
  ["error", Of.Error],
] as const;

/** Reads a trace while it comes in. */
export class TraceReader {
  readonly table = new Table();
  private readonly decoder = new TextDecoder();
  private rest = "";
  private last: TraceEnd | null = null;
  /** The trace's id is the first word, and those of the blocks follow it. */
  private trace = 0;
  /** What words say of a status, by their numbers. */
  private readonly statuses: number[] = [];

  /** Takes the next bytes. Blocks that are complete with them are in the table afterwards. */
  push(chunk: Uint8Array): void {
    const lines = (this.rest + this.decoder.decode(chunk, { stream: true })).split(NEWLINE);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      const told = JSON.parse(line) as SpanBlock | TraceEnd;
      if ("truncated" in told) this.last = told;
      else this.block(told);
    }
  }

  /** What is said of the whole. Throws if the answer was cut off. */
  end(): TraceEnd {
    if (this.last === null) throw new Error("the answer broke off");
    return this.last;
  }

  private block(block: SpanBlock): void {
    const { table } = this;
    if (this.trace === 0) this.trace = table.words.push(block.trace_id) - 1;
    const offset = this.trace;
    for (const word of block.words) table.words.push(word);
    const rows = block.started_us.length;
    table.reserve(rows);
    const from = table.length;
    const column = (of: Of): Float64Array => (table.columns[of] as Float64Array).subarray(from, from + rows);
    addUp(block.started_us, column(Of.Started));
    column(Of.Duration).set(block.duration_us);
    column(Of.Waited).set(block.waited_us);
    column(Of.Trace).fill(this.trace);
    for (const [name, of] of TEXTS) shift(block[name], column(of), offset);
    const { statuses } = this;
    const status = column(Of.Status);
    const [operation, tool] = [column(Of.Operation), column(Of.Tool)];
    for (let i = 0; i < rows; i++) {
      const said = (block.status[i] as number) + offset;
      status[i] = statuses[said] ??= statusOf(table.words[said]);
      if (operation[i] === 0) operation[i] = tool[i] as number;
    }
    halves(block.span_ids, column(Of.IdHigh), column(Of.IdLow));
    halves(block.parent_ids, column(Of.ParentHigh), column(Of.ParentLow));
    table.addWritten(rows);
  }
}

/** Numbers that each say how much is added to the one before. */
function addUp(from: number[], to: Float64Array): void {
  let sum = 0;
  for (let i = 0; i < from.length; i++) to[i] = sum += from[i] as number;
}

/** Numbers of words, with ours before them; no word stays none. */
function shift(from: number[], to: Float64Array, by: number): void {
  for (let i = 0; i < from.length; i++) to[i] = from[i] === 0 ? 0 : (from[i] as number) + by;
}

/** Ids that stand one behind the other, in two halves each. */
function halves(digits: string, high: Float64Array, low: Float64Array): void {
  for (let i = 0; i < high.length; i++) {
    high[i] = hex(digits, i * ID_DIGITS);
    low[i] = hex(digits, i * ID_DIGITS + ID_DIGITS / 2);
  }
}

/** Puts rows into a table. */
export function addRows(table: Table, rows: SpanRow[]): void {
  const numbers = new Map<string, number>([["", 0]]);
  const numberOf = (word: string | null): number => {
    const known = numbers.get(word ?? "");
    if (known !== undefined) return known;
    const number = table.words.push(word ?? "") - 1;
    numbers.set(word ?? "", number);
    return number;
  };
  table.reserve(rows.length);
  const put = (of: Of, value: number): void => void ((table.columns[of] as Float64Array)[table.length] = value);
  for (const row of rows) {
    put(Of.Started, row.started_us);
    put(Of.Duration, row.duration_us ?? -1);
    put(Of.Waited, row.waited_us);
    put(Of.Status, statusOf(row.status));
    for (const [name, of] of TEXTS) put(of, numberOf(row[name]));
    put(Of.Operation, numberOf(row.operation || row.tool));
    put(Of.Trace, numberOf(row.trace_id));
    put(Of.IdHigh, hex(row.span_id, 0));
    put(Of.IdLow, hex(row.span_id, ID_DIGITS / 2));
    put(Of.ParentHigh, hex(row.parent_id ?? NO_ID, 0));
    put(Of.ParentLow, hex(row.parent_id ?? NO_ID, ID_DIGITS / 2));
    table.addWritten(1);
  }
}

function statusOf(status: string | undefined): number {
  return Math.max(0, STATUSES.indexOf(status as (typeof STATUSES)[number]));
}

/** Half an id. */
function hex(digits: string, from: number): number {
  let value = 0;
  for (let i = from; i < from + ID_DIGITS / 2; i++) {
    const code = digits.charCodeAt(i);
    value = value * 16 + (code & 15) + (code > 0x40 ? 9 : 0);
  }
  return value;
}
