import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import type { SpanRow } from "../api/types.ts";
import { duration, plain } from "../lib/format.ts";
import { to } from "../lib/router.ts";
import { namesOf, whereOf, whoOf } from "../lib/spans.ts";
import { Moved, useMoved } from "./act.tsx";
import { ReportedMark, StatusMark, Time } from "./basic.tsx";

/** A list of spans, each a link into its trace. */
export function SpanTable({ spans, action }: { spans: SpanRow[]; action?: (span: SpanRow) => ComponentChildren }) {
  // A row that slides to where another one was is not acted on by a click that was meant for that one.
  const hasMoved = useMoved(action ? spans.map((span) => span.span_id).join() : "");
  const isAroundMoved = useContext(Moved);
  return (
    <Moved.Provider value={hasMoved || isAroundMoved}>
      <div class="table">
        <table class="list">
          <thead>
            <tr>
              <th>Started</th>
              <th>Status</th>
              <th class="main">Operation</th>
              <th class="opt">Server</th>
              <th class="opt">Who</th>
              <th class="number">Time</th>
              {action && <th><span class="unseen">Actions</span></th>}
            </tr>
          </thead>
          <tbody>
            {spans.map((span) => {
              const { title, detail } = namesOf(span);
              return (
                <tr key={span.trace_id + span.span_id} class={span.status}>
                  <td class="time"><Time us={span.started_us} /></td>
                  <td class="state"><StatusMark status={span.status} brief /></td>
                  <td class="main">
                    <a data-row href={to.trace(span.trace_id, span.span_id)}>{plain(title)}</a>
                    <span class="muted"> {plain(detail)}</span>
                    <ReportedMark reported={span.reported} />
                    {span.error && <div class="error-text">{plain(span.error)}</div>}
                  </td>
                  <td class="opt">{plain(whereOf(span))}</td>
                  <td class="opt">{plain(whoOf(span))}</td>
                  <td class="number took"><Duration span={span} /></td>
                  {action && <td class="actions">{action(span)}</td>}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Moved.Provider>
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
