import { forgetKey, headers, Problem } from "../api/client.ts";
import type { Columns } from "./model.ts";
import type { Told } from "./load.worker.ts";

export interface Loaded {
  columns: Columns;
  /** What came with the spans; nothing while they are still coming. */
  envelope: Record<string, unknown> | null;
}

/** Loads spans from an address of the API. The listener hears of every part; the returned function ends it. */
export function loadSpans(
  url: string,
  onPart: (loaded: Loaded) => void,
  onProblem: (problem: Problem) => void,
): () => void {
  const worker = new Worker(new URL("./load.worker.ts", import.meta.url), { type: "module" });
  worker.onmessage = (message: MessageEvent<Told>) => {
    const told = message.data;
    if (told.kind === "refused") {
      if (told.status === 401) forgetKey("That key was not accepted. Look for the right one and try again.");
      onProblem(new Problem(told.status, told.code, told.message));
    } else {
      onPart({ columns: told.columns, envelope: told.kind === "whole" ? told.envelope : null });
    }
    if (told.kind !== "part") worker.terminate();
  };
  worker.onerror = () => onProblem(new Problem(0, "WORKER", "The part of the page that reads traces did not start."));
  worker.postMessage({ url, headers: headers() });
  return () => worker.terminate();
}
