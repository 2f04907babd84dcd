import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { health, post, said } from "../api/client.ts";
import type { Attributes, SpanFull } from "../api/types.ts";
import { bytes, clock, count, duration, plain, short } from "../lib/format.ts";
import { useLoad } from "../lib/hooks.ts";
import { changeQuery, to, usePlace } from "../lib/router.ts";
import { useSignal } from "../lib/signal.ts";
import { Copy, Empty, Loading, ProblemNote, ReportedMark, StatusMark, Time } from "../parts/basic.tsx";
import { Code } from "../parts/code.tsx";
import { CancelOperation } from "../pages/operations.tsx";
import { argumentsOf, cutOf, isMark, resourceOf, resultsOf, serverOf } from "./values.ts";

const TABS = ["Attributes", "Arguments", "Result", "Events", "Links"] as const;
type Tab = (typeof TABS)[number];

/** Which tab is open stays the same from span to span. */
let lastTab: Tab = "Attributes";

export function Details({ trace, span: id, round, onClose }: { trace: string; span: string; round: number; onClose(): void }) {
  const asked = usePlace().query.get("tab");
  const tab = TABS.find((name) => name.toLowerCase() === asked) ?? lastTab;
  const load = useLoad<{ span: SpanFull; }>(`traces/${encodeURIComponent(trace)}/spans/${encodeURIComponent(id)}`);
  const [seen, setSeen] = useState(round);
  if (seen !== round) {
    setSeen(round);
    load.again();
  }
  const span = load.data?.span ?? null;
  const choose = (next: Tab): void => {
    lastTab = next;
    changeQuery({ tab: next.toLowerCase() });
  };
  const onKey = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(tab) + by + TABS.length) % TABS.length] ?? tab;
    choose(next);
    document.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  const size = span ? { Arguments: argumentsOf(span.attributes).length, Result: resultsOf(span.attributes).length, Events: span.events.length, Links: span.links.length } : null;
  return (
    <aside class="details" aria-label="Details of the span">
      <header>
        <h2>{plain(span?.name ?? "…")}</h2>
        <button type="button" class="quiet" aria-label="Close the details" onClick={onClose}>✕</button>
      </header>
      {span && <Summary span={span} again={load.again} />}
      <div role="tablist" aria-label="Parts of the span" onKeyDown={onKey}>
        {TABS.map((name) => {
          const amount = name === "Attributes" ? 0 : (size?.[name] ?? 0);
          return (
            <button key={name} id={`tab-${name}`} type="button" role="tab" aria-selected={tab === name} aria-controls="tab-panel" tabIndex={tab === name ? 0 : -1} onClick={() => choose(name)}>
              {name}
              {(name === "Events" || name === "Links") && amount > 0 && <small> {amount}</small>}
            </button>
          );
        })}
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`} class="panel">
        <ProblemNote problem={load.problem} again={load.again} />
        {!span && !load.problem && <Loading what="the span" />}
        {span && <Panel tab={tab} span={span} />}
      </div>
    </aside>
  );
}

function Summary({ span, again }: { span: SpanFull; again(): void }) {
  const lasts = span.duration_us ?? Math.max(0, Date.now() * 1000 - span.started_us);
  const part = lasts > 0 ? Math.min(100, (100 * span.waited_us) / lasts) : 0;
  return (
    <div class="summary">
      <p>
        <StatusMark status={span.status} /> <ReportedMark reported={span.reported} /> <b>{duration(lasts)}</b>
        {span.waited_us > 0 && (
          <span class="muted"> = {duration(lasts - span.waited_us)} working + <span class="waited">{duration(span.waited_us)} waiting</span></span>
        )}
        <CancelOperation key={span.span_id} span={span} onDone={again} />
      </p>
      {span.waited_us > 0 && (
        <svg class="split" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect class="worked" width={100 - part} height="4" />
          <rect class="waits" x={100 - part} width={part} height="4" />
        </svg>
      )}
      {span.error && <p class="error-text">{plain(span.error)}</p>}
      <p class="muted">
        {span.kind} · <Time us={span.started_us} />
        {span.peer && <> · to <a href={to.server(span.peer)}>{plain(span.peer)}</a></>}
        {span.agent && <> · by {plain(span.agent)}</>}
      </p>
      <p class="muted ids">
        <a href={to.session(span.session_id)}>session</a> · <a href={to.trace(span.trace_id, span.span_id)}>trace {short(span.trace_id)}</a>
        {" · span "}<code>{span.span_id}</code> <Copy text={span.span_id} />
      </p>
    </div>
  );
}

function Panel({ tab, span }: { tab: Tab; span: SpanFull }) {
  const { attributes } = span;
  if (tab === "Attributes") return <AttributeList attributes={attributes} />;
  if (tab === "Arguments") {
    const found = argumentsOf(attributes);
    if (found.length === 0) {
      return <Empty title="No arguments"><p>It took none, or they are not recorded: the capture level of its server or operation may be <code>metadata</code>.</p></Empty>;
    }
    return <>{found.map((name) => <Value key={name} name={name} attributes={attributes} />)}</>;
  }
  if (tab === "Result") return <Results span={span} />;
  if (tab === "Events") {
    if (span.events.length === 0) return <Empty title="No events"><p>Progress, retries and pauses would be here.</p></Empty>;
    return (
      <ol class="events">
        {span.events.map((event, index) => (
          <li key={index}>
            <p><b>{plain(event.name)}</b> <span class="muted">{duration(event.at_us - span.started_us)} after the start, {clock(event.at_us)}</span></p>
            {event.attributes && Object.keys(event.attributes).length > 0 && <AttributeList attributes={event.attributes} />}
          </li>
        ))}
      </ol>
    );
  }
  if (span.links.length === 0) return <Empty title="No links"><p>Other traces that this span has to do with would be here: retries, and what another agent recorded of the same request.</p></Empty>;
  return (
    <ul class="events">
      {span.links.map((link) => (
        <li key={link.trace_id + link.span_id}>
          <p><a href={to.trace(link.trace_id, link.span_id)}>trace {short(link.trace_id)}, span {link.span_id}</a></p>
          {link.attributes && Object.keys(link.attributes).length > 0 && <AttributeList attributes={link.attributes} />}
        </li>
      ))}
    </ul>
  );
}

function Results({ span }: { span: SpanFull }) {
  const { attributes } = span;
  const resource = resourceOf(attributes);
  const found = resource ? [] : resultsOf(attributes);
  const code = attributes["mcp.error.code"];
  const message = attributes["mcp.error.message"];
  return (
    <>
      {(code !== undefined || message !== undefined) && (
        <div class="failure"><b>{plain(String(code ?? "error"))}</b> <span>{plain(String(message ?? ""))}</span></div>
      )}
      {resource && (
        <div class="resource">
          <h3>A resource</h3>
          <dl class="attributes">
            <div><dt>URI</dt><dd><code>{plain(resource.uri)}</code> <Copy text={resource.uri} /></dd></div>
            <div><dt>MIME type</dt><dd>{plain(resource.type ?? "not told")}</dd></div>
            {resource.size !== null && <div><dt>Size</dt><dd>{bytes(resource.size)}</dd></div>}
          </dl>
          <p class="muted">What resources contain is never recorded.</p>
          <ReadAgain key={`${span.span_id} ${resource.uri}`} server={span.peer ?? serverOf(attributes)} uri={resource.uri} />
        </div>
      )}
      {found.map((name) => <Value key={name} name={name} attributes={attributes} />)}
      {!resource && found.length === 0 && code === undefined && message === undefined && (
        <Empty title={span.status === "running" || span.status === "waiting" ? "No result yet" : "No result"}>
          <p>{span.status === "running" || span.status === "waiting" ? "It is still under way." : "There was none, or it is not recorded at this capture level."}</p>
        </Empty>
      )}
    </>
  );
}

interface Content {
  uri?: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

/** REQ-IUI-05: fetches it now, from the server that has it. What comes is shown here and kept nowhere. */
function ReadAgain({ server, uri }: { server: string | null; uri: string }) {
  const role = useSignal(health)?.role ?? "operator";
  const [isBusy, setBusy] = useState(false);
  const [told, setTold] = useState<string | null>(null);
  const [contents, setContents] = useState<Content[] | null>(null);
  if (role !== "operator") return <p class="muted">Whoever has the operator's key can read it again.</p>;
  const read = async (): Promise<void> => {
    setBusy(true);
    setTold(null);
    try {
      setContents((await post<{ contents: Content[] }>("resources/read", server === null ? { uri } : { server, uri })).contents);
    } catch (error) {
      setContents(null);
      setTold(said(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => void read()}>{contents === null ? "Read it again now" : "Read it once more"}</button>
      {told !== null && <p class="error-text" role="alert">{plain(told)}</p>}
      {contents?.length === 0 && <p class="muted">It is empty.</p>}
      {contents?.map((content, index) => (
        <div class="value" key={index}>
          <h3>{plain(content.mimeType ?? "no MIME type")} <span class="muted">as it is now</span></h3>
          {typeof content.text === "string" && <Code label="The resource" value={content.text} />}
          {typeof content.blob === "string" && <p class="muted">{bytes(Math.floor((content.blob.length * 3) / 4))} that are no text.</p>}
        </div>
      ))}
    </>
  );
}

/** A value with its name, and plainly whether all of it is here. */
function Value({ name, attributes }: { name: string; attributes: Attributes }) {
  return (
    <div class="value">
      <h3>{plain(name)} <CutMark name={name} attributes={attributes} /></h3>
      <Code label={name} value={attributes[name]} />
    </div>
  );
}

/** REQ-IUI-04 */
function CutMark({ name, attributes }: { name: string; attributes: Attributes }) {
  const cut = cutOf(attributes, name);
  if (!cut) return null;
  const kept = typeof attributes[name] === "string" ? new TextEncoder().encode(attributes[name]).length : null;
  return (
    <span class="cut-mark" title={cut.hash ? `SHA-256 of the whole: ${cut.hash}` : "The rest was not kept."}>
      ✂ cut{kept !== null && ` to ${bytes(kept)}`}{cut.size !== null && ` of ${bytes(cut.size)}`}
    </span>
  );
}

function AttributeList({ attributes }: { attributes: Attributes }) {
  const names = Object.keys(attributes).filter((name) => !isMark(attributes, name)).sort();
  const [text, setText] = useState("");
  const shown = names.filter((name) => `${name} ${String(attributes[name])}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      {names.length > 12 && (
        <label class="field"><span class="unseen">Find an attribute</span>
          <input type="search" placeholder={`Find in ${count(names.length)} attributes`} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
      )}
      <dl class="attributes">
        {shown.map((name) => (
          <div key={name}>
            <dt>{plain(name)}<CutMark name={name} attributes={attributes} /></dt>
            <dd><Short value={attributes[name]} name={name} /></dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Short({ value, name }: { value: unknown; name: string }): ComponentChildren {
  const isLong = (typeof value === "object" && value !== null) || (typeof value === "string" && (value.length > 120 || value.includes("\n")));
  if (isLong) return <Code label={name} value={value} />;
  return <code class={typeof value === "number" ? "number" : ""}>{plain(String(value))}</code>;
}
