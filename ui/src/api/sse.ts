/** One event of a `text/event-stream`. */
export interface Message {
  /** The last id that was seen, this event's or an earlier one's. */
  id: string;
  event: string;
  data: string;
}

/**
 * Reads server-sent events out of text that comes in pieces, however it was cut. It follows the HTML standard: any of
 * the three line ends, several `data` lines, comments, ids that stay, and an unfinished event at the end that is lost.
 */
export class Parser {
  id = "";
  /** Milliseconds after which the server wants to be asked again, once it has said so. */
  retry: number | null = null;
  private rest = "";
  private event = "";
  private data: string[] = [];
  private isFirst = true;

  push(text: string): Message[] {
    const messages: Message[] = [];
    let buffer = this.rest + text;
    if (this.isFirst && buffer.length > 0) {
      this.isFirst = false;
      if (buffer.startsWith("\ufeff")) buffer = buffer.slice(1);
    }
    let from = 0;
    for (;;) {
      const end = lineEnd(buffer, from);
      // A carriage return may be the first half of a line end whose second half is still to come.
      if (end === -1 || (buffer[end] === "\r" && end + 1 === buffer.length)) break;
      this.line(buffer.slice(from, end), messages);
      from = end + (buffer[end] === "\r" && buffer[end + 1] === "\n" ? 2 : 1);
    }
    this.rest = buffer.slice(from);
    return messages;
  }

  private line(line: string, messages: Message[]): void {
    if (line === "") {
      if (this.data.length > 0) {
        messages.push({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
      }
      this.event = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    const raw = colon === -1 ? "" : line.slice(colon + 1);
    const value = raw.startsWith(" ") ? raw.slice(1) : raw;
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
  }
}

function lineEnd(text: string, from: number): number {
  const feed = text.indexOf("\n", from);
  const until = feed === -1 ? text.length : feed;
  const carriage = text.indexOf("\r", from);
  return carriage !== -1 && carriage < until ? carriage : feed;
}
