import type { ComponentChildren } from "preact";
import type { SpanRow } from "../api/types.ts";
import { duration, plain } from "../lib/format.ts";
import { to } from "../lib/router.ts";
import { StatusMark, Time } from "./basic.tsx";

/** A list of spans, each a link into its trace. */
export function SpanTable({ spans, action }: { spans: SpanRow[]; action?: (span: SpanRow) => ComponentChildren }) {
  return (
    <div class="table">
      <table class="list">
        <thead>
          <tr>
            <th>Started</th>
            <th>Status</th>
            <th class="main">Operation</th>
            <th class="opt">Server</th>
            <th class="opt">Agent</th>
            <th class="number">Time</th>
            {action && <th><span class="unseen">Actions</span></th>}
          </tr>
        </thead>
        <tbody>
          {spans.map((span) => (
            <tr key={span.trace_id + span.span_id} class={span.status}>
              <td class="time"><Time us={span.started_us} /></td>
              <td class="state"><StatusMark status={span.status} brief /></td>
              <td class="main">
                <a data-row href={to.trace(span.trace_id, span.span_id)}>{plain(span.operation ?? span.tool ?? span.name)}</a>
                <span class="muted"> {plain(span.operation || span.tool ? span.name : (span.method ?? ""))}</span>
                {span.error && <div class="error-text">{plain(span.error)}</div>}
              </td>
              <td class="opt">{plain(span.peer ?? "")}</td>
              <td class="opt">{plain(span.agent ?? "")}</td>
              <td class="number took"><Duration span={span} /></td>
              {action && <td class="actions">{action(span)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The wall time, and how much of it went by waiting for somebody. */
export function Duration({ span }: { span: Pick<SpanRow, "duration_us" | "waited_us" | "status" | "started_us"> }) {
  const lasts = span.duration_us ?? Math.max(0, Date.now() * 1000 - span.started_us);
  const isOpen = span.duration_us === null;
  return (
    <span title={`worked ${duration(lasts - span.waited_us)}, waited ${duration(span.waited_us)}`}>
      {isOpen ? `${duration(lasts)} …` : duration(lasts)}
      {span.waited_us > 0 && <span class="waited"> {duration(span.waited_us)} waiting</span>}
    </span>
  );
}
