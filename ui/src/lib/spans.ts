/** What lists say of a span. */

import type { SpanRow } from "../api/types.ts";

/** What it is called, and what is to be said beside that. A name that stands in both is told once. */
export function namesOf(span: Pick<SpanRow, "name" | "method" | "tool" | "operation">): { title: string; detail: string } {
  const title = span.operation ?? span.tool ?? span.name;
  return { title, detail: besides(title === span.name ? (span.method ?? "") : span.name, title) };
}

/** A name without what it is told beside: of 'tools/call read', beside 'read', that is 'tools/call'. */
export function besides(name: string, title: string): string {
  if (name === title || title.startsWith(`${name} `)) return "";
  return name.endsWith(` ${title}`) ? name.slice(0, -title.length - 1) : name;
}

/** Who called, as far as is known: the client by its own name, or else the agent whose span it is. */
export function whoOf({ client, agent }: { client?: string | null; agent: string | null }): string {
  return client || agent || "";
}

/** Where it went: the server that was called, or those that were called within it. */
export function whereOf({ server, peer }: { server?: string | null; peer: string | null }): string {
  return peer || server || "";
}

/** Whether it can be ended by itself: a request that was served, or an execution, which bears its session's name. */
export function isEndable(span: SpanRow): boolean {
  if (span.reported || (span.status !== "running" && span.status !== "waiting")) return false;
  return span.kind === "server" || (span.kind === "internal" && span.request_id === span.session_id);
}
