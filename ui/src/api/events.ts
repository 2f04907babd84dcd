/** The stream of events: one connection for the whole page, which comes back by itself and misses nothing meanwhile. */

import { signalOf } from "../lib/signal.ts";
import { access, address, headers, problemOf } from "./client.ts";
import { type Message, Parser } from "./sse.ts";
import type { EventData, LiveEvent } from "./types.ts";

export type Connection = "off" | "connecting" | "open" | "lost";

/** The server says something every 15 seconds; what is silent for longer is gone. */
const SILENCE_MS = 40_000;
/** How long is waited for what was told before. */
const BEFORE_MS = 3000;
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 10_000;

export const connection = signalOf<Connection>("off");

function eventsOf(messages: Message[]): LiveEvent[] {
  return messages.flatMap(({ id, event, data }) => {
    try {
      return [{ seq: id, name: event, data: JSON.parse(data) as EventData }];
    } catch {
      return [];
    }
  });
}

class Live {
  private readonly listeners = new Set<(events: LiveEvent[]) => void>();
  private lastId = "";
  private abort: AbortController | null = null;

  watch(listener: (events: LiveEvent[]) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  start(): void {
    if (this.abort) return;
    this.abort = new AbortController();
    void this.run(this.abort.signal);
  }

  stop(): void {
    this.abort?.abort();
    this.abort = null;
    connection.set("off");
  }

  /**
   * What was told before now, up to so many events, the oldest first: those before one that was seen, or else the last that
   * there are, which come together.
   */
  async before(amount: number, stop: AbortSignal): Promise<LiveEvent[]> {
    const last = Number(this.lastId) || Infinity;
    const enough = new AbortController();
    const signal = AbortSignal.any([stop, enough.signal, AbortSignal.timeout(BEFORE_MS)]);
    const found: LiveEvent[] = [];
    try {
      const after = Number.isFinite(last) ? Math.max(0, last - amount) : -amount;
      const response = await fetch(address("events", { after }), { headers: headers(), signal, cache: "no-store", credentials: "omit" });
      if (!response.ok || !response.body) return [];
      const parser = new Parser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      while (Number.isFinite(last) ? Number(parser.id) < last : found.length === 0) {
        const { done, value } = await reader.read();
        if (done) break;
        found.push(...eventsOf(parser.push(value)));
      }
    } catch {
      // What has come until then is shown.
    }
    enough.abort();
    return found.filter(({ seq }) => Number(seq) <= last);
  }

  private async run(stop: AbortSignal): Promise<void> {
    let wait = RETRY_MS_MIN;
    while (!stop.aborted) {
      connection.set(connection.get() === "lost" ? "lost" : "connecting");
      try {
        const asked = await this.read(stop, () => (wait = RETRY_MS_MIN));
        if (asked !== null) wait = Math.max(RETRY_MS_MIN, asked);
      } catch {
        // Whatever it was, the way on is to try again.
      }
      if (stop.aborted || access.get().key === null) break;
      connection.set("lost");
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, RETRY_MS_MAX);
    }
  }

  /** One connection, until it ends. */
  private async read(stop: AbortSignal, onOpen: () => void): Promise<number | null> {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MS);
    const resume: Record<string, string> = this.lastId ? { "Last-Event-ID": this.lastId } : {};
    const { key } = access.get();
    try {
      const response = await fetch(address("events"), {
        headers: { ...headers(), Accept: "text/event-stream", ...resume },
        signal: AbortSignal.any([stop, silence.signal]),
        cache: "no-store",
        credentials: "omit",
      });
      if (!response.ok || !response.body) {
        await problemOf(response, key);
        return null;
      }
      connection.set("open");
      onOpen();
      const parser = new Parser();
      parser.id = this.lastId;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return parser.retry;
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MS);
        const events = eventsOf(parser.push(value));
        this.lastId = parser.id;
        if (events.length > 0) for (const listener of [...this.listeners]) listener(events);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

export const live = new Live();
