/** Addresses of the page. Each is a place that can be linked to. */

import { signalOf, useSignal } from "./signal.ts";

export interface Place {
  path: string[];
  query: URLSearchParams;
}

export const place = signalOf<Place>(here());

function here(): Place {
  const path = location.pathname.split("/").filter(Boolean).map(decoded);
  return { path, query: new URLSearchParams(location.search) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Where somebody was on a page that they left: how far down, and at which link. */
interface Left {
  scroll: number;
  link: string | null;
}

const left = new Map<string, Left>();
/** The entry of the history that is shown, and its address. */
let entry = "";
let shown = "";
let entries = 0;
/** Who comes back waits no longer than this for the page to be as long as it was. */
const RETURN_MS = 3000;

function leave(): void {
  const at = document.activeElement;
  left.set(entry, { scroll: scrollY, link: at instanceof HTMLAnchorElement && at.dataset["row"] !== undefined ? at.getAttribute("href") : null });
}

function enter(state: unknown): void {
  entry = typeof state === "string" ? state : "";
  shown = location.pathname + location.search;
}

/** Goes to where somebody was, as soon as the page has come so far; whoever moves meanwhile stays where they are. */
function comeBack({ scroll, link }: Left): void {
  const until = performance.now() + RETURN_MS;
  const stop = new AbortController();
  for (const kind of ["wheel", "keydown", "pointerdown", "popstate"]) addEventListener(kind, () => stop.abort(), { signal: stop.signal });
  const step = (): void => {
    if (stop.signal.aborted) return;
    scrollTo(0, scroll);
    const row = link === null ? undefined : [...document.querySelectorAll<HTMLElement>("main a[data-row]")].find((one) => one.getAttribute("href") === link);
    row?.focus({ preventScroll: true });
    const isThere = Math.abs(scrollY - scroll) < 2 && (link === null || row !== undefined);
    if (isThere || performance.now() > until) stop.abort();
    else requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

export function startRouter(): void {
  history.scrollRestoration = "manual";
  enter(history.state);
  addEventListener("popstate", (event) => {
    const isSame = shown === location.pathname + location.search;
    if (!isSame) leave();
    enter(event.state);
    // What stands behind '#' leads nowhere else.
    if (isSame) return;
    place.set(here());
    comeBack(left.get(entry) ?? { scroll: 0, link: null });
  });
  // Links of our own change the place without loading the page again.
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.origin !== location.origin || link.target || link.hasAttribute("download")) return;
    if (link.pathname.startsWith("/api/") || link.hash) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}

export function go(address: string): void {
  if (address !== location.pathname + location.search) {
    leave();
    history.pushState(`${performance.timeOrigin} ${++entries}`, "", address);
    enter(history.state);
  }
  place.set(here());
  scrollTo(0, 0);
}

/** Changes what the query says without a new entry in the history. */
export function changeQuery(changes: Record<string, string | null>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  const address = location.pathname + (text ? `?${text}` : "");
  if (address === location.pathname + location.search) return;
  history.replaceState(history.state, "", address);
  shown = address;
  place.set(here());
}

export function usePlace(): Place {
  return useSignal(place);
}

export const to = {
  trace: (trace: string, span?: string): string =>
    `/traces/${encodeURIComponent(trace)}${span ? `?span=${encodeURIComponent(span)}` : ""}`,
  session: (id: string): string => `/sessions/${encodeURIComponent(id)}`,
  /** What came over one connection of a client: its calls are sessions of their own. */
  connection: (id: string): string => `/sessions?q=${encodeURIComponent(id)}`,
  server: (name: string): string => `/servers/${encodeURIComponent(name)}`,
};
