import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { access, forgetKey, get, health, Problem, said } from "./api/client.ts";
import { connection, live } from "./api/events.ts";
import type { Health } from "./api/types.ts";
import { pageTitle } from "./lib/hooks.ts";
import { HELP, helpIsOpen, PAGES } from "./lib/keys.ts";
import { go, usePlace } from "./lib/router.ts";
import { useSignal } from "./lib/signal.ts";
import { chooseTheme, theme } from "./lib/theme.ts";
import { countOf, waiting as waitingSignal, watchWaiting } from "./lib/waiting.ts";
import { Dialog, Empty, Loading, ProblemNote } from "./parts/basic.tsx";
import { KeyDialog } from "./parts/key.tsx";

type Loader = () => Promise<{ default: ComponentType }>;

/** Each page is loaded when it is gone to. */
const LOADERS: Record<string, Loader> = {
  live: () => import("./pages/live.tsx"),
  sessions: () => import("./pages/sessions.tsx"),
  session: () => import("./pages/session.tsx"),
  operations: () => import("./pages/operations.tsx"),
  traces: () => import("./pages/trace.tsx"),
  waiting: () => import("./pages/waiting.tsx"),
  servers: () => import("./pages/servers.tsx"),
  server: () => import("./pages/server.tsx"),
  graph: () => import("./pages/graph.tsx"),
  audit: () => import("./pages/audit.tsx"),
  settings: () => import("./pages/settings.tsx"),
  search: () => import("./pages/search.tsx"),
};

const HEALTH_MS = 15_000;
/** How often a gateway that has not let us in is asked again. */
const KNOCK_MS = 3000;

/** Whether the gateway takes the key, and why not. */
function useEntrance(): { isIn: boolean; problem: Problem | null; again(): void } {
  const { key, isTried } = useSignal(access);
  const [taken, setTaken] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [round, setRound] = useState(0);
  const again = (): void => setRound((now) => now + 1);
  const isIn = key !== null && (isTried || taken === key);
  // One request alone shows the key. Several with a wrong one would lock this address out before anybody has read why.
  useEffect(() => {
    if (key === null || isIn) return;
    let isCurrent = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    get<Health>("health").then(
      (answer) => {
        if (!isCurrent) return;
        health.set(answer);
        setProblem(null);
        setTaken(key);
      },
      (error: unknown) => {
        if (!isCurrent) return;
        setProblem(error instanceof Problem ? error : new Problem(0, "UNREADABLE", said(error)));
        if (error instanceof Problem && error.status === 0) timer = setTimeout(again, KNOCK_MS);
      },
    );
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [key, isIn, round]);
  return { isIn, problem, again };
}

export function App() {
  const { key, asks, why } = useSignal(access);
  const { isIn, problem, again } = useEntrance();
  const isHelpOpen = useSignal(helpIsOpen);
  const title = useSignal(pageTitle);
  const waiting = countOf(useSignal(waitingSignal));
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title || "Aqueduct Inspector"}`;
  }, [title, waiting]);
  useEffect(() => {
    if (!isIn) return;
    const look = (): void => {
      get<Health>("health").then(
        (answer) => health.set(answer),
        () => undefined,
      );
    };
    if (health.get() === null) look();
    live.start();
    const stop = watchWaiting();
    const timer = setInterval(look, HEALTH_MS);
    return () => {
      clearInterval(timer);
      stop();
      live.stop();
    };
  }, [isIn, key]);
  return (
    <>
      <a class="skip" href="#main" onClick={() => document.querySelector<HTMLElement>("main")?.focus()}>
        Skip to the content
      </a>
      <Header />
      <main id="main" tabIndex={-1}>
        {key !== null && !isIn && problem && <section class="page"><div class="bar"><h1>The Inspector</h1></div><ProblemNote problem={problem} again={again} /></section>}
        {key !== null && (isIn || !problem) && <Content isIn={isIn} />}
      </main>
      {(key === null || asks) && <KeyDialog why={why} />}
      {isHelpOpen && <Help />}
    </>
  );
}

function Header() {
  const { path, query } = usePlace();
  const waiting = countOf(useSignal(waitingSignal));
  const { shown } = useSignal(theme);
  const state = useSignal(connection);
  const isSearch = path[0] === "search";
  const [text, setText] = useState(isSearch ? (query.get("q") ?? "") : "");
  useEffect(() => setText(isSearch ? (query.get("q") ?? "") : ""), [isSearch, query.get("q")]);
  // Where there is little room, the page's own name is to be seen among the others.
  useEffect(() => {
    document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [path[0]]);
  const other = shown === "dark" ? "light" : "dark";
  return (
    <header class="top">
      <a class="brand" href="/live" aria-label="Aqueduct Inspector">
        <img src="/favicon.svg" alt="" width="22" height="22" />
        <span>Aqueduct</span>
      </a>
      <nav aria-label="Pages">
        {PAGES.map(({ path: target, name, key }) => {
          const isHere = `/${path[0] ?? ""}` === target || (target === "/sessions" && path[0] === "traces");
          return (
            <a key={target} href={target} aria-current={isHere ? "page" : undefined} title={`g ${key}`}>
              {name}
              {target === "/waiting" && waiting > 0 && (
                <b class="count" aria-label={`${waiting} wait`}>{waiting}</b>
              )}
            </a>
          );
        })}
      </nav>
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) go(`/search?q=${encodeURIComponent(text.trim())}`);
        }}
      >
        <input
          id="search"
          type="search"
          placeholder="Search  /"
          aria-label="Search in names, attributes and errors"
          value={text}
          spellcheck={false}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </form>
      <span class={`link ${state}`} role="status" title="The stream of events">
        <i aria-hidden="true" />
        <span>{state === "open" ? "live" : state === "off" ? "off" : state === "lost" ? "lost, trying again" : "connecting"}</span>
      </span>
      <button type="button" class="quiet" aria-label={`Switch to ${other}`} title={`Switch to ${other}`} onClick={() => chooseTheme(other)}>
        {shown === "dark" ? "☀" : "☾"}
      </button>
      <button type="button" class="quiet" aria-label="Keys" title="Keys: ?" onClick={() => helpIsOpen.set(true)}>
        ?
      </button>
    </header>
  );
}

/** The page itself is loaded meanwhile, but asks for nothing before the key was taken. */
function Content({ isIn }: { isIn: boolean }) {
  const { path } = usePlace();
  const [first = "", second] = path;
  const name = second === undefined ? first : first === "sessions" ? "session" : first === "servers" ? "server" : first;
  const [page, setPage] = useState<{ name: string; Page: ComponentType } | null>(null);
  const [isFailed, setFailed] = useState(false);
  const loader = Object.hasOwn(LOADERS, name) ? LOADERS[name] : undefined;
  useEffect(() => {
    if (!loader) return;
    let isCurrent = true;
    setFailed(false);
    loader().then(
      ({ default: Page }) => isCurrent && setPage({ name, Page }),
      () => isCurrent && setFailed(true),
    );
    return () => {
      isCurrent = false;
    };
  }, [name]);
  if (!loader) {
    return (
      <Empty title="There is no such page">
        <p>
          Go to the <a href="/live">live view</a> or the <a href="/sessions">sessions</a>.
        </p>
      </Empty>
    );
  }
  if (isFailed) return <NotLoaded />;
  if (page?.name !== name || !isIn) return <Loading what="the page" />;
  const { Page } = page;
  return <Page key={path.join("/")} />;
}

/** A page comes from the gateway like everything else. A new gateway has new pages, which are loaded with everything else. */
function NotLoaded() {
  const [told, setTold] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [isThere, setThere] = useState(false);
  useEffect(() => void get<Health>("health").then(() => setThere(true), () => undefined), []);
  const tryAgain = async (): Promise<void> => {
    setBusy(true);
    setTold("");
    try {
      await get<Health>("health");
      location.reload();
    } catch (error) {
      setTold(said(error));
    }
    setBusy(false);
  };
  return (
    <Empty title={isThere ? "The gateway is another one now" : "The gateway is not reachable"}>
      {isThere ? <p>It has other pages than the one that this page came from.</p> : <p>This part of the page comes from it and was not loaded before. Look whether the gateway still runs.</p>}
      <button type="button" disabled={isBusy} onClick={() => void tryAgain()}>Try again</button>
      {told && <p class="error-text" role="alert">{told}</p>}
    </Empty>
  );
}

function Help() {
  return (
    <Dialog title="Keys" onClose={() => helpIsOpen.set(false)}>
      <dl class="keys">
        {HELP.map(([keys, what]) => (
          <div key={keys}>
            <dt><kbd>{keys}</kbd></dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">
        The key of this tab: <button type="button" onClick={() => { helpIsOpen.set(false); forgetKey(); }}>Forget it</button>
      </p>
    </Dialog>
  );
}
