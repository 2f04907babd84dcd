import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { post, Problem, said } from "../api/client.ts";
import { left } from "../lib/format.ts";
import { lookWaiting } from "../lib/waiting.ts";

/** Buttons that have only just come to where they are do nothing yet: the click may have been meant for what stood there before. */
const FRESH_MS = 700;

/** Whether what is shown around here has only just moved. */
export const Moved = createContext(false);

/** True from the picture in which `shown` is new until people can have seen it. */
export function useMoved(shown: string): boolean {
  const known = useRef<string | null>(null);
  const until = useRef(0);
  const [, again] = useState(0);
  // Not in an effect: the buttons would already stand there, ready to be pressed.
  if (known.current !== shown) {
    known.current = shown;
    until.current = performance.now() + FRESH_MS;
  }
  useEffect(() => {
    const timer = setTimeout(() => again((round) => round + 1), until.current - performance.now() + 1);
    return () => clearTimeout(timer);
  }, [shown]);
  return performance.now() < until.current;
}

/** Does one thing, and says what came of it where it was asked for. */
export function useAct(): { told: string | null; isBusy: boolean; isFresh: boolean; act(path: string, body?: unknown): Promise<unknown> } {
  const [told, setTold] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isFresh = useContext(Moved);
  const isThere = useRef(true);
  useEffect(
    () => () => {
      isThere.current = false;
    },
    [],
  );
  const act = async (path: string, body?: unknown): Promise<unknown> => {
    setBusy(true);
    setTold(null);
    try {
      const answer = await post(path, body);
      void lookWaiting();
      return answer;
    } catch (error) {
      if (error instanceof Problem && error.status === 403) setTold("Your key may look, and change nothing.");
      else setTold(said(error));
      if (error instanceof Problem && (error.status === 404 || error.status === 409)) void lookWaiting();
      return null;
    } finally {
      if (isThere.current) setBusy(false);
    }
  };
  return { told, isBusy, isFresh, act };
}

export function Left({ until, now }: { until: string; now: number }) {
  const rest = Date.parse(until) - now;
  return <span class={`left ${rest < 60_000 ? "soon" : ""}`}>{left(rest)}{rest > 0 ? " left" : ""}</span>;
}
