/**
 * Reads an answer like `{"trace_id": …, "spans": [{…}, …], "truncated": …}` while it comes in. A trace of 100,000 spans is
 * some 45 MB of JSON. Of each span only a few numbers and words are kept, which are taken out of the bytes without making
 * an object of it first; that takes a third of the time of parsing it all.
 */

import { HASH_START, hashed, Of, STATUSES, Table } from "./table.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;
const ZERO = 0x30;

/** What is kept of a span, by its name, and how it is read. Anything else is passed over. */
const FIELDS: Record<string, { kind: "number" | "word" | "id" | "status"; column: Of }> = {
  started_us: { kind: "number", column: Of.Started },
  duration_us: { kind: "number", column: Of.Duration },
  waited_us: { kind: "number", column: Of.Waited },
  status: { kind: "status", column: Of.Status },
  span_id: { kind: "id", column: Of.IdHigh },
  parent_id: { kind: "id", column: Of.ParentHigh },
  name: { kind: "word", column: Of.Name },
  operation: { kind: "word", column: Of.Operation },
  tool: { kind: "word", column: Of.Tool },
  peer: { kind: "word", column: Of.Peer },
  agent: { kind: "word", column: Of.Agent },
  kind: { kind: "word", column: Of.Kind },
  trace_id: { kind: "word", column: Of.Trace },
  error: { kind: "word", column: Of.Error },
};
type Field = (typeof FIELDS)[string] | null;

export class SpanReader {
  readonly table = new Table();
  private rest = new Uint8Array(0);
  /** What stands around the spans, as text. */
  private around = "";
  private inSpans = false;
  private depth = 0;
  private inString = false;
  private isEscape = false;
  private readonly decoder = new TextDecoder();
  /** The names of a span's fields with their last quote, as they came last: mostly they come in the same order again. */
  private readonly order: { name: Uint8Array; field: Field }[] = [];

  /** Takes the next bytes. Spans that are complete with them are in the table afterwards. */
  push(chunk: Uint8Array): void {
    const bytes = this.joined(chunk);
    let i = 0;
    while (i < bytes.length) {
      if (!this.inSpans) {
        const end = this.scanAround(bytes, i);
        this.around += this.decoder.decode(bytes.subarray(i, end), { stream: true });
        i = end;
        continue;
      }
      const byte = bytes[i];
      if (byte === OPEN_BRACE) {
        const end = this.span(bytes, i + 1);
        if (end === -1) break;
        i = end;
      } else if (byte === CLOSE_BRACKET) {
        // The bracket itself belongs to what stands around.
        this.inSpans = false;
        this.depth = 2;
      } else i += 1;
    }
    this.rest = bytes.slice(i);
  }

  /** What stood around the spans. Throws if the answer was cut off. */
  end<Envelope>(): Envelope {
    return JSON.parse(this.around) as Envelope;
  }

  private joined(chunk: Uint8Array): Uint8Array {
    if (this.rest.length === 0) return chunk;
    const joined = new Uint8Array(this.rest.length + chunk.length);
    joined.set(this.rest);
    joined.set(chunk, this.rest.length);
    return joined;
  }

  /** Up to the beginning of the list, or to the end. */
  private scanAround(bytes: Uint8Array, from: number): number {
    for (let i = from; i < bytes.length; i++) {
      const byte = bytes[i];
      if (this.inString) {
        if (this.isEscape) this.isEscape = false;
        else if (byte === BACKSLASH) this.isEscape = true;
        else if (byte === QUOTE) this.inString = false;
      } else if (byte === QUOTE) this.inString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        this.depth += 1;
        if (byte === OPEN_BRACKET && this.depth === 2) {
          const before = this.around + new TextDecoder().decode(bytes.subarray(from, i));
          if (/"spans"\s*:\s*$/.test(before)) {
            this.inSpans = true;
            return i + 1;
          }
        }
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.depth -= 1;
    }
    return bytes.length;
  }

  /** Reads one span from behind its brace. Where it ends, or -1 if its end is not there yet. */
  private span(bytes: Uint8Array, from: number): number {
    const { table } = this;
    const { length } = bytes;
    table.begin();
    let i = from;
    for (let place = 0; ; place++) {
      while (i < length && bytes[i] !== QUOTE && bytes[i] !== CLOSE_BRACE) i += 1;
      if (i >= length) return -1;
      if (bytes[i++] === CLOSE_BRACE) break;
      const usual = this.order[place];
      let field: Field;
      if (usual !== undefined && begins(bytes, i, usual.name)) {
        field = usual.field;
        i += usual.name.length;
      } else {
        const nameFrom = i;
        while (i < length && bytes[i] !== QUOTE) i += 1;
        if (i >= length) return -1;
        i += 1;
        field = this.learned(bytes.slice(nameFrom, i), place);
      }
      while (i < length && (bytes[i] === COLON || (bytes[i] as number) <= SPACE)) i += 1;
      if (i >= length) return -1;
      const byte = bytes[i++];
      if (byte === QUOTE) i = field === null ? passed(bytes, i) : this.text(bytes, i, field);
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) i = skipped(bytes, i);
      else i = this.plain(bytes, i - 1, field);
      if (i === -1) return -1;
    }
    const operation = table.columns[Of.Operation] as Float64Array;
    if (operation[table.length] === 0) operation[table.length] = table.at(Of.Tool, table.length);
    table.add();
    return i;
  }

  private learned(name: Uint8Array, place: number): Field {
    const text = new TextDecoder().decode(name).slice(0, -1);
    const field = Object.hasOwn(FIELDS, text) ? (FIELDS[text] ?? null) : null;
    this.order[place] = { name, field };
    return field;
  }

  private text(bytes: Uint8Array, from: number, field: NonNullable<Field>): number {
    const { length } = bytes;
    let hash = HASH_START;
    let isEscaped = false;
    let i = from;
    for (;;) {
      if (i >= length) return -1;
      const byte = bytes[i++] as number;
      if (byte === QUOTE) break;
      hash = hashed(hash, byte);
      if (byte === BACKSLASH) {
        isEscaped = true;
        if (i >= length) return -1;
        hash = hashed(hash, bytes[i++] as number);
      }
    }
    const { columns, words, length: row } = this.table;
    const column = columns[field.column] as Float64Array;
    if (field.kind === "word") column[row] = words.numberOf(bytes, from, i - 1, hash, isEscaped);
    else if (field.kind === "status") column[row] = statusOf(bytes, from);
    else if (field.kind === "id") {
      column[row] = hex(bytes, from, Math.min(from + 8, i - 1));
      (columns[field.column + 1] as Float64Array)[row] = hex(bytes, from + 8, Math.min(from + 16, i - 1));
    }
    return i;
  }

  /** A number, or a word such as `null`. */
  private plain(bytes: Uint8Array, from: number, field: Field): number {
    let value = 0;
    let isWhole = true;
    let i = from;
    for (;;) {
      if (i >= bytes.length) return -1;
      const byte = bytes[i] as number;
      if (byte === COMMA || byte === CLOSE_BRACE || byte <= SPACE) break;
      const digit = byte - ZERO;
      if (digit >= 0 && digit <= 9) value = value * 10 + digit;
      else isWhole = false;
      i += 1;
    }
    if (field?.kind === "number") {
      const number = isWhole ? value : Number(new TextDecoder().decode(bytes.subarray(from, i)));
      if (Number.isFinite(number)) (this.table.columns[field.column] as Float64Array)[this.table.length] = number;
    }
    return i;
  }
}

function begins(bytes: Uint8Array, from: number, wanted: Uint8Array): boolean {
  if (from + wanted.length > bytes.length) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[from + i] !== wanted[i]) return false;
  return true;
}

/** Behind a text that nobody wants, from behind its first quote. */
function passed(bytes: Uint8Array, from: number): number {
  for (let i = from; i < bytes.length; i++) {
    if (bytes[i] === BACKSLASH) i += 1;
    else if (bytes[i] === QUOTE) return i + 1;
  }
  return -1;
}

/** Behind something nested, from behind its first bracket. */
function skipped(bytes: Uint8Array, from: number): number {
  let depth = 1;
  let inString = false;
  for (let i = from; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return i + 1;
    }
  }
  return -1;
}

/** The words of a status differ in their first letters. */
const FIRST_LETTERS = STATUSES.map((status) => status.charCodeAt(0));

function statusOf(bytes: Uint8Array, from: number): number {
  return Math.max(0, FIRST_LETTERS.indexOf(bytes[from] ?? 0));
}

function hex(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number;
    value = value * 16 + (byte & 15) + (byte > 0x40 ? 9 : 0);
  }
  return value;
}
