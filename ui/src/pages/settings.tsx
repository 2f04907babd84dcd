import { access, forgetKey } from "../api/client.ts";
import type { Health } from "../api/types.ts";
import { ago, bytes, count, plain, share } from "../lib/format.ts";
import { useLoad, useTitle } from "../lib/hooks.ts";
import { HELP } from "../lib/keys.ts";
import { useSignal } from "../lib/signal.ts";
import { chooseTheme, theme, type Choice } from "../lib/theme.ts";
import { Command, Loading, ProblemNote } from "../parts/basic.tsx";

const THEMES: [Choice, string][] = [["system", "as the system"], ["dark", "dark"], ["light", "light"]];
const KNOWN = ["bytes", "reported_bytes", "days", "spans", "keep_days", "keep_bytes", "index_lag", "unreadable"];
const LISTENERS: Record<string, string> = {
  operator: "This page and the operator",
  mcp: "MCP",
  http: "MCP over HTTP",
  otlp_http: "Reports, OTLP over HTTP",
  otlp_grpc: "Reports, OTLP over gRPC",
  metrics: "Metrics",
};

export default function Settings() {
  useTitle("Settings");
  const load = useLoad<Health>("health", {}, 2000);
  const { choice } = useSignal(theme);
  const { key } = useSignal(access);
  const { data } = load;
  return (
    <section class="page">
      <div class="bar"><h1>Settings and health</h1></div>
      <ProblemNote problem={load.problem} again={load.again} />
      {!data && !load.problem && <Loading what="the health" />}
      {data && <HealthView health={data} />}
      <h2>The key</h2>
      <p>
        You look with {data ? <b>{data.role === "viewer" ? "a viewer's key" : "the operator's key"}</b> : "a key"}
        {data?.role === "viewer" ? ", which sees everything but secrets and changes nothing." : ", which may also answer, cancel and unblock."}{" "}
        It is kept in this tab only and is gone when you close it.
      </p>
      <p>To open another tab, put it behind the address: <code>{location.origin}/#key=…</code>. It is taken out of the address at once.</p>
      <p><button type="button" disabled={key === null} onClick={() => forgetKey()}>Forget the key</button></p>
      <h2>Colours</h2>
      <fieldset class="choices">
        <legend class="unseen">Colours</legend>
        {THEMES.map(([value, label]) => (
          <label key={value}><input type="radio" name="theme" checked={choice === value} onChange={() => chooseTheme(value)} /> {label}</label>
        ))}
      </fieldset>
      <h2>Keys</h2>
      <dl class="keys">
        {HELP.map(([keys, what]) => <div key={keys}><dt><kbd>{keys}</kbd></dt><dd>{what}</dd></div>)}
      </dl>
      <h2>In the terminal</h2>
      <p>The same data, without a browser:</p>
      <Command>aqueduct trace tail</Command>
      <Command>aqueduct trace export</Command>
    </section>
  );
}

function named(key: string): string {
  return key.charAt(0).toUpperCase() + key.slice(1).replaceAll("_", " ");
}

function HealthView({ health }: { health: Health }) {
  const { recorder, store, collectors } = health;
  const limit = (name: string): number | null => (typeof store[name] === "number" ? store[name] : null);
  const others = Object.entries(store).filter(([name]) => !KNOWN.includes(name));
  return (
    <>
      <dl class="figures">
        <div class={health.status === "ok" ? "" : "bad"}><dt>Gateway</dt><dd>{plain(health.status)}</dd></div>
        <div><dt>Version</dt><dd>{plain(health.version)}</dd></div>
        <div><dt>Identity</dt><dd>{plain(health.server_id)}</dd></div>
        <div><dt>Started</dt><dd>{ago(health.started_us)}</dd></div>
      </dl>
      <h2>Recorder</h2>
      {recorder === null ? (
        <p class="muted">This process records nothing itself. It shows what others wrote to the same data directory.</p>
      ) : (
        <RecorderView recorder={recorder} />
      )}
      {collectors.length > 0 && (
        <>
          <h2>Sent on</h2>
          {collectors.map((collector) => (
            <dl key={collector.name} class="figures">
              <div><dt>To</dt><dd>{plain(collector.name)}</dd></div>
              <div><dt>Sent</dt><dd>{count(collector.sent)}</dd></div>
              <div class={collector.dropped > 0 ? "bad" : ""}><dt>Dropped</dt><dd>{count(collector.dropped)}</dd></div>
              <div class={collector.failed > 0 ? "bad" : ""}><dt>Not taken</dt><dd>{count(collector.failed)}</dd></div>
              {collector.trouble !== null && <div class="bad"><dt>Trouble</dt><dd>{plain(collector.trouble)}</dd></div>}
            </dl>
          ))}
        </>
      )}
      <h2>Store</h2>
      <dl class="figures">
        <div><dt>Size</dt><dd>{bytes(store.bytes)}{limit("keep_bytes") !== null && <small> of {bytes(limit("keep_bytes"))} at the most</small>}</dd></div>
        {limit("reported_bytes") !== null && <div><dt>Reported by others</dt><dd>{bytes(limit("reported_bytes"))}</dd></div>}
        <div><dt>Days with calls</dt><dd>{count(store.days)}{limit("keep_days") !== null && <small> of {count(limit("keep_days"))} that are kept</small>}</dd></div>
        <div><dt>Spans</dt><dd>{count(store.spans)}</dd></div>
        <div class={store.index_lag > 10_000 ? "bad" : ""}><dt>Not searchable yet</dt><dd>{count(store.index_lag)}</dd></div>
        {limit("unreadable") !== null && <div class={limit("unreadable") === 0 ? "" : "bad"}><dt>Files that cannot be read</dt><dd>{count(limit("unreadable"))}</dd></div>}
        {others.map(([name, value]) => (
          <div key={name}><dt>{plain(named(name))}</dt><dd>{typeof value === "number" ? (name.includes("bytes") ? bytes(value) : count(value)) : plain(typeof value === "string" ? value : JSON.stringify(value))}</dd></div>
        ))}
      </dl>
      {health.listeners && Object.keys(health.listeners).length > 0 && (
        <>
          <h2>Listeners</h2>
          <dl class="attributes">
            {Object.entries(health.listeners).map(([name, value]) => (
              <div key={name}><dt>{plain(LISTENERS[name] ?? named(name))}</dt><dd><code>{plain(typeof value === "string" ? value : JSON.stringify(value))}</code></dd></div>
            ))}
          </dl>
        </>
      )}
    </>
  );
}

function RecorderView({ recorder }: { recorder: NonNullable<Health["recorder"]> }) {
  const isLosing = recorder.dropped > 0 || recorder.failed > 0;
  return (
    <>
      {isLosing ? (
        <p class="problem" role="alert">
          <strong>{count(recorder.dropped + recorder.failed)} spans are missing</strong>
          <span>
            {recorder.dropped > 0 && `${count(recorder.dropped)} (${share(recorder.dropped, recorder.recorded + recorder.dropped)}) were dropped because the queue was full. `}
            {recorder.failed > 0 && `${count(recorder.failed)} could not be written: is the disk full? `}
            Calls were not held up by it.
          </span>
        </p>
      ) : (
        <p class="muted">Nothing was dropped since the gateway started.</p>
      )}
      <dl class="figures">
        <div><dt>Recorded</dt><dd>{count(recorder.recorded)}</dd></div>
        <div class={recorder.dropped > 0 ? "bad" : ""}><dt>Dropped</dt><dd>{count(recorder.dropped)}</dd></div>
        <div class={recorder.failed > 0 ? "bad" : ""}><dt>Not written</dt><dd>{count(recorder.failed)}</dd></div>
        <div><dt>In the queue</dt><dd>{count(recorder.queued)} <small>of {count(recorder.capacity)}</small></dd></div>
      </dl>
    </>
  );
}
