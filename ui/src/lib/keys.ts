/** Keys that work everywhere on the page. */

import { go } from "./router.ts";
import { signalOf } from "./signal.ts";

export interface Page {
  path: string;
  name: string;
  /** Pressed after `g`. */
  key: string;
}

export const PAGES: readonly Page[] = [
  { path: "/live", name: "Live", key: "l" },
  { path: "/sessions", name: "Sessions", key: "s" },
  { path: "/operations", name: "Operations", key: "o" },
  { path: "/waiting", name: "Waiting", key: "w" },
  { path: "/servers", name: "Servers", key: "v" },
  { path: "/graph", name: "Graph", key: "c" },
  { path: "/audit", name: "Audit", key: "a" },
  { path: "/settings", name: "Settings", key: "t" },
];

export const HELP: readonly [string, string][] = [
  ["j  k", "next and previous row"],
  ["Enter", "open what is selected"],
  ["/", "search"],
  ["g then a letter", PAGES.map((page) => `${page.key} ${page.name}`).join(" · ")],
  ["p", "pause and continue the live view"],
  ["← →  Space", "in a trace: close and open a branch"],
  ["+  −  0  [  ]", "in a trace: zoom, all, earlier, later"],
  ["n  N", "in a trace: next and previous match or error"],
  ["Esc", "close what is open"],
  ["?", "this list"],
];

export const helpIsOpen = signalOf(false);

/** How long after `g` a letter still belongs to it. */
const CHORD_MS = 1500;

export function startKeys(): void {
  let chordUntil = 0;
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") (event.target as HTMLElement).blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (performance.now() < chordUntil) {
      chordUntil = 0;
      const page = PAGES.find((known) => known.key === event.key);
      if (page) {
        event.preventDefault();
        go(page.path);
      }
      return;
    }
    if (event.key === "g") chordUntil = performance.now() + CHORD_MS;
    else if (event.key === "/") {
      event.preventDefault();
      document.querySelector<HTMLInputElement>("#search")?.focus();
    } else if (event.key === "?") helpIsOpen.set(true);
    else if (event.key === "j" || event.key === "k") moveRow(event.key === "j" ? 1 : -1);
  });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.matches("input, textarea, select") || target.isContentEditable);
}

/** Rows are links or buttons marked with `data-row`, so that Enter does what it always does. */
function moveRow(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  const now = rows.findIndex((row) => row === document.activeElement);
  const next = rows[now === -1 ? (by > 0 ? 0 : rows.length - 1) : now + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}
