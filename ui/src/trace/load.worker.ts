/** Fetches a trace and makes columns of it, away from the page's own thread. */

import type { SpanRow } from "../api/types.ts";
import { buffers, build, type Columns } from "./model.ts";
import { addRows, TraceReader } from "./read.ts";
import { Table } from "./table.ts";

export interface Asked {
  url: string;
  headers: Record<string, string>;
}

export type Told =
  | { kind: "part"; columns: Columns }
  | { kind: "whole"; columns: Columns; envelope: Record<string, unknown> }
  | { kind: "refused"; status: number; code: string; message: string };

/** How an answer in columns is called. */
const LINES = "application/jsonl";

/** The first picture comes with so many spans, each further one with eight times as many. */
const FIRST_SPANS = 2000;

self.onmessage = (message: MessageEvent<Asked>) => {
  void load(message.data).catch((error: unknown) => {
    tell({ kind: "refused", status: 0, code: "UNREADABLE", message: `The trace cannot be read: ${String(error)}` });
  });
};

async function load({ url, headers }: Asked): Promise<void> {
  const response = await fetch(url, { headers, cache: "no-store", credentials: "omit" });
  if (!response.ok || !response.body) {
    const body = (await response.json().catch(() => ({}))) as { error?: { code?: string; message?: string } };
    const { code = String(response.status), message = response.statusText } = body.error ?? {};
    tell({ kind: "refused", status: response.status, code, message });
    return;
  }
  if (response.headers.get("content-type") === LINES) await lines(response.body);
  else rows((await response.json()) as { spans: SpanRow[] });
}

/** A trace, of which the beginning is shown while the rest comes in. */
async function lines(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = new TraceReader();
  const { table } = reader;
  let next = FIRST_SPANS;
  const stream = body.getReader();
  for (;;) {
    const { done, value } = await stream.read();
    if (done) break;
    reader.push(value);
    if (table.length >= next) {
      next = table.length * 8;
      tell({ kind: "part", columns: build(table, Date.now() * 1000) });
    }
  }
  tell({ kind: "whole", columns: build(table, Date.now() * 1000), envelope: { ...reader.end() } });
}

function rows({ spans, ...envelope }: { spans: SpanRow[] }): void {
  const table = new Table();
  addRows(table, spans);
  tell({ kind: "whole", columns: build(table, Date.now() * 1000), envelope });
}

function tell(told: Told): void {
  const given = told.kind === "refused" ? [] : buffers(told.columns);
  self.postMessage(told, { transfer: given });
}
