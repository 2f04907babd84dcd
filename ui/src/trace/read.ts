/**
 * What is kept of the spans in an answer. Those of a trace come in columns, a line of JSON for each block of spans; those of
 * a session are rows, and some thousand at the most.
 */

import type { SpanBlock, SpanRow, TraceEnd } from "../api/types.ts";
import { Of, STATUSES, Table } from "./table.ts";

const NEWLINE = "\n";
const ID_DIGITS = 16;

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
    const column = (of: Of): Float64Array => table.columns[of] as Float64Array;
    const texts = TEXTS.map(([name, of]) => ({ from: block[name], to: column(of) }));
    const [started, duration, waited] = [column(Of.Started), column(Of.Duration), column(Of.Waited)];
    const [status, trace, operation, tool] = [column(Of.Status), column(Of.Trace), column(Of.Operation), column(Of.Tool)];
    const statuses = new Map<number, number>();
    let at = 0;
    for (let i = 0; i < rows; i++) {
      const row = table.length;
      at += block.started_us[i] as number;
      started[row] = at;
      duration[row] = block.duration_us[i] as number;
      waited[row] = block.waited_us[i] as number;
      const said = block.status[i] as number;
      let known = statuses.get(said);
      if (known === undefined) statuses.set(said, (known = statusOf(table.words[said + offset])));
      status[row] = known;
      trace[row] = this.trace;
      for (const { from, to } of texts) {
        const number = from[i] as number;
        to[row] = number === 0 ? 0 : number + offset;
      }
      if (operation[row] === 0) operation[row] = tool[row] as number;
      putId(table, Of.IdHigh, block.span_ids, i * ID_DIGITS);
      putId(table, Of.ParentHigh, block.parent_ids, i * ID_DIGITS);
      table.add();
    }
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
    putId(table, Of.IdHigh, row.span_id, 0);
    putId(table, Of.ParentHigh, row.parent_id ?? "", 0);
    table.add();
  }
}

function statusOf(status: string | undefined): number {
  return Math.max(0, STATUSES.indexOf(status as (typeof STATUSES)[number]));
}

/** Puts an id into a column and the next one, half of it in each. */
function putId(table: Table, of: Of, digits: string, from: number): void {
  (table.columns[of] as Float64Array)[table.length] = hex(digits, from, from + ID_DIGITS / 2);
  (table.columns[of + 1] as Float64Array)[table.length] = hex(digits, from + ID_DIGITS / 2, from + ID_DIGITS);
}

function hex(digits: string, from: number, to: number): number {
  let value = 0;
  for (let i = from; i < to && i < digits.length; i++) {
    const code = digits.charCodeAt(i);
    value = value * 16 + (code & 15) + (code > 0x40 ? 9 : 0);
  }
  return value;
}
