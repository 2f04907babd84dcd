/** The live view's rows: a request is one row from its start to its end, everything else is a row of its own. */

import type { EventData, LiveEvent, SpanRow } from "../api/types.ts";
import { besides, namesOf, whereOf, whoOf } from "./spans.ts";

export interface TailRow {
  key: string;
  at_us: number;
  kind: string;
  status: string;
  direction: "inbound" | "outbound" | null;
  title: string;
  detail: string;
  peer: string;
  who: string;
  reported: boolean;
  duration_us: number | null;
  error: string;
  trace_id: string;
  span_id: string;
  session_id: string;
}

/** Older rows are let go. */
export const ROWS_MAX = 2000;

export class Tail {
  /** The latest first. */
  rows: TailRow[] = [];
  /** Everything that came, counted. */
  seen = 0;
  private readonly requests = new Map<string, TailRow>();

  constructor(private readonly isRaw = false) {}

  push(events: LiveEvent[]): void {
    // Whoever was given the rows before keeps them as they were: a view that is paused does not change.
    this.rows = [...this.rows];
    for (const event of events) {
      this.seen += 1;
      if (!this.isRaw && event.name === "McpRequestFinished") {
        const known = this.requests.get(event.data.span_id);
        if (known) {
          // A new object, so that who shows it sees the difference.
          const done = rowOf(event);
          Object.assign(done, { key: known.key, at_us: known.at_us, kind: "request", peer: done.peer || known.peer, who: known.who || done.who });
          const index = this.rows.indexOf(known);
          if (index >= 0) this.rows[index] = done;
          this.requests.delete(event.data.span_id);
          continue;
        }
      }
      if (!this.isRaw && (event.name === "ProgressUpdate" || event.name === "WaitingOnSignal" || event.name === "SignalReceived")) {
        const known = this.requests.get(event.data.span_id);
        if (known) {
          const next = { ...known, status: event.name === "WaitingOnSignal" ? "waiting" : "running", detail: detailOf(event.name, event.data) };
          const index = this.rows.indexOf(known);
          if (index >= 0) this.rows[index] = next;
          this.requests.set(event.data.span_id, next);
          continue;
        }
      }
      // A request's session begins and ends with it, and would stand there twice.
      if (!this.isRaw && event.name.startsWith("Session")) continue;
      const row = rowOf(event);
      this.rows.unshift(row);
      if (!this.isRaw && row.direction === "outbound") this.leadsTo(row);
      if (!this.isRaw && event.name === "McpRequestStarted") {
        row.kind = "request";
        this.requests.set(event.data.span_id, row);
      }
    }
    for (const old of this.rows.splice(ROWS_MAX)) this.requests.delete(old.span_id);
  }

  /** A request goes to the servers that are called within it, which is known where no other one of its session is under way. */
  private leadsTo(call: TailRow): void {
    const around = [...this.requests.values()].filter((row) => row.direction === "inbound" && row.session_id === call.session_id);
    const [known] = around;
    if (!known || around.length > 1 || call.peer === "" || known.peer.split(", ").includes(call.peer)) return;
    const next = { ...known, peer: known.peer ? `${known.peer}, ${call.peer}` : call.peer };
    const index = this.rows.indexOf(known);
    if (index >= 0) this.rows[index] = next;
    this.requests.set(known.span_id, next);
  }

  /** Puts events that were told before behind the others. The oldest come first. */
  before(events: LiveEvent[]): void {
    const known = new Set(this.rows.map((row) => row.key));
    const older = events.map(rowOf).filter((row) => !known.has(row.key)).reverse();
    this.rows = [...this.rows, ...older].slice(0, ROWS_MAX);
  }

  /** Fills an empty view with what was there before it was opened. The latest come first. */
  seed(spans: SpanRow[]): void {
    const known = new Set(this.rows.map((row) => row.span_id));
    const older = spans.filter((span) => !known.has(span.span_id)).map((span): TailRow => {
      const row: TailRow = {
        key: `span ${span.span_id}`,
        at_us: span.started_us,
        kind: "request",
        status: span.status,
        direction: span.kind === "client" ? "outbound" : span.kind === "server" ? "inbound" : null,
        ...namesOf(span),
        peer: whereOf(span),
        who: whoOf(span),
        reported: span.reported,
        duration_us: span.duration_us,
        error: span.error ?? "",
        trace_id: span.trace_id,
        span_id: span.span_id,
        session_id: span.session_id,
      };
      if (span.status === "running" || span.status === "waiting") this.requests.set(span.span_id, row);
      return row;
    });
    this.rows = [...this.rows, ...older].slice(0, ROWS_MAX);
  }
}

function rowOf({ seq, name, data }: LiveEvent): TailRow {
  const title = String(data.operation ?? data.tool ?? data.name ?? data.title ?? data.method ?? name);
  return {
    key: `event ${seq} ${data.span_id}`,
    at_us: data.at_us,
    kind: name,
    status: statusOf(name, data),
    // What happens within has no arrow.
    direction: data.direction === "inbound" || data.direction === "outbound" ? data.direction : null,
    title,
    detail: besides(detailOf(name, data), title),
    peer: whereOf({ peer: data.peer ?? null, server: data.server ?? null }),
    who: whoOf({ agent: data.agent ?? null, client: data.client ?? null }),
    reported: data.reported === true,
    duration_us: data.duration_us ?? null,
    error: data.error_code === null || data.error_code === undefined ? "" : String(data.error_code),
    trace_id: data.trace_id,
    span_id: data.span_id,
    session_id: data.session_id,
  };
}

function statusOf(name: string, data: EventData): string {
  if (name === "McpRequestStarted" || name === "SessionStarted" || name === "ProgressUpdate") return "running";
  if (name === "WaitingOnSignal") return "waiting";
  if (name === "SignalReceived") return "running";
  if (data.error_code === "CANCELLED") return "cancelled";
  return (data.status ?? "ok").toLowerCase();
}

function detailOf(name: string, data: EventData): string {
  if (name === "ProgressUpdate") return progress(data);
  if (name === "SignalReceived") return "goes on";
  if (name === "WaitingOnSignal") return data.approval_id ? "waits for approval" : data.input_id ? "waits for the operator's answer" : "waits for its client";
  if (name === "SessionStarted") return `session begins, ${data.engine ?? ""}`;
  if (name === "SessionFinished") return "session ends";
  return data.operation || data.tool ? (data.name ?? data.method ?? "") : (data.method ?? "");
}

function progress({ progress: done, total, message }: EventData): string {
  const share = done === undefined ? "" : total ? `${Math.round((100 * done) / total)} %` : String(done);
  return [share, message ?? ""].filter(Boolean).join(" ");
}

/** Every word of the text has to be somewhere in the row. */
export function fits(row: TailRow, text: string, status: string): boolean {
  if (status !== "" && row.status !== status) return false;
  const where = `${row.title} ${row.detail} ${row.peer} ${row.who} ${row.error} ${row.session_id} ${row.kind}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => where.includes(word));
}
