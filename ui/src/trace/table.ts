/**
 * Spans as they come in, in arrays that grow. 100,000 objects cost a browser more than 100,000 numbers in arrays. Texts
 * that come again and again are kept once, by numbers.
 */

import type { Status } from "../api/types.ts";

export const STATUSES: readonly Status[] = ["running", "waiting", "ok", "error", "cancelled"];
export const RUNNING = 0;
export const WAITING = 1;
export const ERROR = 3;

const PRIME = 0x0100_0193;
export const HASH_START = 0x811c_9dc5;

/** One step of the FNV-1a hash. */
export function hashed(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, PRIME);
}

/** Texts by numbers. They are found by their bytes, so that a text is made once and not once for every span. */
export class Words {
  /** The empty text is number 0. */
  readonly list: string[] = [""];
  private readonly hashes: number[] = [0];
  private readonly bytes: Uint8Array[] = [new Uint8Array(0)];
  private slots = new Uint32Array(1024);
  private readonly decoder = new TextDecoder();

  /** The number of a text that stands in JSON, without its quotes. */
  numberOf(json: Uint8Array, from: number, to: number, hash: number, isEscaped: boolean): number {
    if (from === to) return 0;
    let mask = this.slots.length - 1;
    let slot = hash & mask;
    for (let known = this.slots[slot] as number; known !== 0; known = this.slots[slot] as number) {
      if (this.hashes[known] === hash && isSame(this.bytes[known] as Uint8Array, json, from, to)) return known;
      slot = (slot + 1) & mask;
    }
    if (this.list.length * 2 > this.slots.length) {
      this.grow();
      mask = this.slots.length - 1;
      slot = hash & mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
    }
    const number = this.list.length;
    const text = this.decoder.decode(json.subarray(from, to));
    this.list.push(isEscaped ? (JSON.parse(`"${text}"`) as string) : text);
    this.hashes.push(hash);
    this.bytes.push(json.slice(from, to));
    this.slots[slot] = number;
    return number;
  }

  private grow(): void {
    const slots = new Uint32Array(this.slots.length * 2);
    for (let number = 1; number < this.list.length; number++) {
      let slot = (this.hashes[number] as number) & (slots.length - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
      slots[slot] = number;
    }
    this.slots = slots;
  }
}

function isSame(known: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (known.length !== to - from) return false;
  for (let i = 0; i < known.length; i++) if (known[i] !== bytes[from + i]) return false;
  return true;
}

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
  readonly words = new Words();
  readonly columns: Float64Array[] = Array.from({ length: Of.Amount }, () => new Float64Array(FIRST_ROWS));
  /** Rows by their ids: the number of a row, and one more. */
  private index = new Uint32Array(FIRST_ROWS * 4);

  /** Makes room for one more row, which is written at `length` and counts once it is added. */
  begin(): void {
    const capacity = (this.columns[0] as Float64Array).length;
    if (this.length === capacity) {
      this.columns.forEach((column, number) => {
        const larger = new Float64Array(capacity * 2);
        larger.set(column);
        this.columns[number] = larger;
      });
    }
    for (const column of this.columns) column[this.length] = 0;
    (this.columns[Of.Duration] as Float64Array)[this.length] = -1;
  }

  /** Adds the row. One whose id is known takes the place of what was known of it. */
  add(): void {
    if (this.length * 2 >= this.index.length) this.reindex();
    const row = this.length;
    const slot = this.slotOf(this.at(Of.IdHigh, row), this.at(Of.IdLow, row));
    const known = this.index[slot] as number;
    if (known === 0) {
      this.index[slot] = row + 1;
      this.length += 1;
    } else for (const column of this.columns) column[known - 1] = column[row] as number;
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
