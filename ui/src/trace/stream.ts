/**
 * Reads an answer like `{"trace_id": …, "spans": [{…}, …], "truncated": …}` while it comes in. A trace of 100,000 spans is
 * some 50 MB of JSON; parsed piece by piece it is ready when its last byte is, and its beginning is on the screen before.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

export class SpanReader<Row> {
  private rest = new Uint8Array(0);
  /** What stands around the spans, as text. */
  private around = "";
  private inSpans = false;
  /** How deep the scan is, in the whole answer or in the list. */
  private depth = 0;
  private inString = false;
  private readonly decoder = new TextDecoder();
  /** Of its own, since it may hold half a character back. */
  private readonly aroundDecoder = new TextDecoder();

  /** The spans that are complete with these bytes. */
  push(chunk: Uint8Array): Row[] {
    const bytes = this.joined(chunk);
    const rows: Row[] = [];
    let kept = 0;
    let i = this.scanned;
    while (i < bytes.length) {
      if (this.inSpans) {
        const [end, first, last, closed] = this.scanSpans(bytes, i);
        if (first !== -1) rows.push(...(JSON.parse(`[${this.decoder.decode(bytes.subarray(first, last))}]`) as Row[]));
        kept = closed ? end : last === -1 ? kept : last;
        i = end;
        if (closed) this.inSpans = false;
      } else {
        const end = this.scanAround(bytes, i);
        this.around += this.aroundDecoder.decode(bytes.subarray(i, end), { stream: true });
        i = kept = end;
      }
    }
    this.rest = bytes.slice(kept);
    this.scanned = bytes.length - kept;
    this.objectFrom = this.objectFrom === -1 ? -1 : this.objectFrom - kept;
    return rows;
  }

  /** What stood around the spans. Throws if the answer was cut off. */
  end<Envelope>(): Envelope {
    return JSON.parse(this.around) as Envelope;
  }

  private scanned = 0;
  private objectFrom = -1;

  private joined(chunk: Uint8Array): Uint8Array {
    if (this.rest.length === 0) return chunk;
    const joined = new Uint8Array(this.rest.length + chunk.length);
    joined.set(this.rest);
    joined.set(chunk, this.rest.length);
    return joined;
  }

  /** Up to the beginning of the list, or to the end. */
  private scanAround(bytes: Uint8Array, from: number): number {
    let i = from;
    while (i < bytes.length) {
      if (this.inString) {
        i = this.skipString(bytes, i);
        continue;
      }
      const byte = bytes[i++];
      if (byte === QUOTE) this.inString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        this.depth += 1;
        if (byte === OPEN_BRACKET && this.depth === 2) {
          const before = this.around + this.decoder.decode(bytes.subarray(from, i - 1));
          if (/"spans"\s*:\s*$/.test(before)) {
            this.inSpans = true;
            this.depth = 0;
            return i;
          }
        }
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.depth -= 1;
    }
    return i;
  }

  /** Where the scan ended, the range of whole objects that it found, and whether the list is at its end. */
  private scanSpans(bytes: Uint8Array, from: number): [number, number, number, boolean] {
    let first = -1;
    let last = -1;
    let { depth } = this;
    let i = from;
    while (i < bytes.length) {
      if (this.inString) {
        i = this.skipString(bytes, i);
        continue;
      }
      const byte = bytes[i++];
      if (byte === QUOTE) this.inString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (depth === 0) this.objectFrom = i - 1;
        depth += 1;
      } else if (byte === CLOSE_BRACE || (byte === CLOSE_BRACKET && depth > 0)) {
        depth -= 1;
        if (depth === 0) {
          if (first === -1) first = this.objectFrom;
          last = i;
          this.objectFrom = -1;
        }
      } else if (byte === CLOSE_BRACKET) {
        // The bracket itself belongs to what stands around.
        this.depth = 2;
        return [i - 1, first, last, true];
      }
    }
    this.depth = depth;
    return [i, first, last, false];
  }

  /** Behind the end of a string, or behind the last byte. */
  private skipString(bytes: Uint8Array, from: number): number {
    let i = from;
    for (;;) {
      const quote = bytes.indexOf(QUOTE, i);
      if (quote === -1) {
        // An escape may be cut in two: how many backslashes stand at the end decides about a quote that comes next.
        this.slashes = trailingSlashes(bytes, bytes.length, from, this.slashes);
        return bytes.length;
      }
      const slashes = trailingSlashes(bytes, quote, from, this.slashes);
      if (slashes % 2 === 0) {
        this.inString = false;
        this.slashes = 0;
        return quote + 1;
      }
      i = quote + 1;
    }
  }

  private slashes = 0;
}

/** Backslashes right before `end`; those of the piece before count if they reach back to its beginning. */
function trailingSlashes(bytes: Uint8Array, end: number, from: number, before: number): number {
  let i = end;
  while (i > from && bytes[i - 1] === BACKSLASH) i -= 1;
  return end - i + (i === from ? before : 0);
}
