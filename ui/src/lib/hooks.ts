import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, type Query, said } from "../api/client.ts";
import { live } from "../api/events.ts";
import type { LiveEvent } from "../api/types.ts";
import { signalOf } from "./signal.ts";

export interface Load<T> {
  data: T | null;
  problem: Problem | null;
  isLoading: boolean;
  again(): void;
}

/** What an address of the API answers, asked again when it changes and every `every` milliseconds. */
export function useLoad<T>(path: string | null, query: Query = {}, every = 0): Load<T> {
  const [data, setData] = useState<T | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isLoading, setLoading] = useState(true);
  const [round, setRound] = useState(0);
  const key = JSON.stringify([path, query]);
  const shownFor = useRef("");
  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // What was shown for something else is not what was asked for.
    if (shownFor.current !== key) setData(null);
    const load = async (): Promise<void> => {
      setLoading(true);
      try {
        const answer = await get<T>(path, query, abort.signal);
        shownFor.current = key;
        setData(answer);
        setProblem(null);
      } catch (error) {
        if (abort.signal.aborted) return;
        setProblem(error instanceof Problem ? error : new Problem(0, "UNREADABLE", said(error)));
      }
      setLoading(false);
      // Nobody looks at a page in the background.
      if (every > 0 && !abort.signal.aborted) timer = setTimeout(() => (document.hidden ? wait() : void load()), every);
    };
    const wait = (): void => {
      timer = setTimeout(() => (document.hidden ? wait() : void load()), every);
    };
    void load();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, every, round]);
  return { data, problem, isLoading, again: () => setRound((now) => now + 1) };
}

/** How wide the inside of an element is, 0 before that is known. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([seen]) => seen && setWidth(Math.round(seen.contentRect.width)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

/** The time, every so many milliseconds. */
export function useNow(every: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** Hears every event of the gateway while it is shown. */
export function useEvents(listener: (events: LiveEvent[]) => void): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => live.watch((events) => latest.current(events)), []);
}

/** Keeps a value back until it has not changed for a moment. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(() => value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** What the page is called; how many wait stands before it, wherever one looks. */
export const pageTitle = signalOf("");

export function useTitle(title: string): void {
  useEffect(() => pageTitle.set(`${title} · Aqueduct Inspector`), [title]);
}
