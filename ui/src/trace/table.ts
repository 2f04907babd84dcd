/**
 * Spans as they come in, in arrays that grow. 100,000 objects cost a browser more than 100,000 numbers in arrays. Texts
 * that come again and again are kept once, by numbers.
 */

import type { Status } from "../api/types.ts";

export const STATUSES: readonly Status[] = ["running", "waiting", "ok", "error", "cancelled"];
export const RUNNING = 0;
export const WAITING = 1;
export const ERROR = 3;

/** The columns of one span that are numbers, in the order in which they are kept. */
export const enum Of {
  Started,
  Duration,
  Waited,
  Status,
  IdHigh,
  IdLow,
  ParentHigh,
  ParentLow,
  Name,
  Operation,
  Tool,
  Peer,
  Agent,
  Kind,
  Trace,
  Error,
  Amount,
}

const FIRST_ROWS = 1024;

export class Table {
  length = 0;
  /** The empty text is number 0. */
  readonly words: string[] = [""];
  readonly columns: Float64Array[] = Array.from({ length: Of.Amount }, () => new Float64Array(FIRST_ROWS));
  /** Rows by their ids: the number of a row, and one more. */
  private index = new Uint32Array(FIRST_ROWS * 4);

  /** Makes room for more rows, which are written behind the others and count once they are added. */
  reserve(rows: number): void {
    const capacity = (this.columns[0] as Float64Array).length;
    if (this.length + rows <= capacity) return;
    this.columns.forEach((column, number) => {
      const larger = new Float64Array(Math.max(capacity * 2, this.length + rows));
      larger.set(column);
      this.columns[number] = larger;
    });
  }

  /** Adds so many rows that were written. One whose id is known takes the place of what was known of it. */
  addWritten(rows: number): void {
    while ((this.length + rows) * 2 > this.index.length) this.reindex();
    const from = this.length;
    for (let row = from; row < from + rows; row++) {
      const slot = this.slotOf(this.at(Of.IdHigh, row), this.at(Of.IdLow, row));
      const known = this.index[slot] as number;
      const place = known === 0 ? this.length : known - 1;
      if (place !== row) for (const column of this.columns) column[place] = column[row] as number;
      if (known === 0) {
        this.index[slot] = place + 1;
        this.length += 1;
      }
    }
  }

  at(column: Of, row: number): number {
    return (this.columns[column] as Float64Array)[row] as number;
  }

  /** The row of a span, or -1. */
  rowOf(high: number, low: number): number {
    return (this.index[this.slotOf(high, low)] as number) - 1;
  }

  private slotOf(high: number, low: number): number {
    const mask = this.index.length - 1;
    let slot = (Math.imul(high, 0x9e37_79b1) ^ Math.imul(low, 0x85eb_ca6b)) & mask;
    for (let known = this.index[slot] as number; known !== 0; known = this.index[slot] as number) {
      if (this.at(Of.IdHigh, known - 1) === high && this.at(Of.IdLow, known - 1) === low) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  private reindex(): void {
    this.index = new Uint32Array(this.index.length * 2);
    for (let row = 0; row < this.length; row++) {
      this.index[this.slotOf(this.at(Of.IdHigh, row), this.at(Of.IdLow, row))] = row + 1;
    }
  }
}
