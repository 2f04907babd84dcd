import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, type Query, said } from "../api/client.ts";
import { useEvents } from "../lib/hooks.ts";

export interface Paged<T> {
  rows: T[];
  isLoading: boolean;
  problem: Problem | null;
  hasMore: boolean;
  /** The last answer, for what it says beside its rows. */
  answer: Record<string, unknown> | null;
  more(): void;
  again(): void;
}

/** A list that comes in pages, one behind the other by their cursors. Without a path nothing is asked for. */
export function usePaged<T>(path: string | null, list: string, query: Query, idOf: (row: T) => string): Paged<T> {
  const [rows, setRows] = useState<T[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  const [isLoading, setLoading] = useState(true);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [round, setRound] = useState(0);
  const [last, setLast] = useState<Record<string, unknown> | null>(null);
  const abort = useRef<AbortController | null>(null);
  const key = JSON.stringify([path, query]);
  const shownFor = useRef("");

  const load = async (from: string | null): Promise<void> => {
    if (path === null) {
      setCursor(null);
      setProblem(null);
      setLoading(false);
      return;
    }
    abort.current?.abort();
    const mine = new AbortController();
    abort.current = mine;
    setLoading(true);
    try {
      const answer = await get<Record<string, unknown>>(path, { ...query, cursor: from }, mine.signal);
      const page = (answer[list] ?? []) as T[];
      setRows((known) => {
        if (from === null) return page;
        const ids = new Set(known.map(idOf));
        return [...known, ...page.filter((row) => !ids.has(idOf(row)))];
      });
      setCursor((answer["cursor"] as string | null | undefined) ?? null);
      setLast(answer);
      setProblem(null);
      shownFor.current = key;
    } catch (error) {
      if (mine.signal.aborted) return;
      setProblem(error instanceof Problem ? error : new Problem(0, "UNREADABLE", said(error)));
    }
    setLoading(false);
  };

  useEffect(() => {
    if (shownFor.current !== key) setRows([]);
    void load(null);
    return () => abort.current?.abort();
  }, [key, round]);

  return {
    rows,
    isLoading,
    problem,
    hasMore: cursor !== null,
    answer: last,
    more: () => cursor !== null && !isLoading && void load(cursor),
    again: () => setRound((now) => now + 1),
  };
}

/** How often a list is loaded again because something happened, at the most. */
const FRESH_MS = 1500;
/** Several events of one moment are one reason to look. */
const SETTLE_MS = 150;
/** Who has scrolled this far reads; what they read does not move. */
const READING_PX = 200;

/** The list follows what happens as long as only its first page is shown, of so many rows. */
export function useFollowing<T>(paged: Paged<T>, rows: number, names: readonly string[]): void {
  const latest = useRef(paged);
  latest.current = paged;
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const lookedAt = useRef(0);
  const look = (): void => {
    timer.current = null;
    const now = latest.current;
    if (document.hidden || now.rows.length > rows || scrollY > READING_PX) return;
    if (now.isLoading) timer.current = setTimeout(look, FRESH_MS);
    else {
      lookedAt.current = performance.now();
      now.again();
    }
  };
  useEvents((events) => {
    if (timer.current !== null || !events.some(({ name }) => names.includes(name))) return;
    timer.current = setTimeout(look, Math.max(SETTLE_MS, lookedAt.current + FRESH_MS - performance.now()));
  });
  useEffect(() => () => void (timer.current !== null && clearTimeout(timer.current)), []);
}
