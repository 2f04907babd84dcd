import { useEffect, useRef, useState } from "preact/hooks";
import { post, Problem, said } from "../api/client.ts";
import { left } from "../lib/format.ts";
import { lookWaiting } from "../lib/waiting.ts";

/** Buttons that have only just appeared are not pressed yet: the click may have been meant for what stood there before. */
const FRESH_MS = 700;

/** Does one thing, and says what came of it where it was asked for. */
export function useAct(): { told: string | null; isBusy: boolean; isFresh: boolean; act(path: string, body?: unknown): Promise<unknown> } {
  const [told, setTold] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isFresh, setFresh] = useState(true);
  const isThere = useRef(true);
  useEffect(() => {
    const timer = setTimeout(() => setFresh(false), FRESH_MS);
    return () => {
      isThere.current = false;
      clearTimeout(timer);
    };
  }, []);
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
