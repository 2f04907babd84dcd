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

export function startRouter(): void {
  addEventListener("popstate", () => place.set(here()));
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
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
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
  history.replaceState(null, "", address);
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
