/** What waits for a person: known to the header everywhere, and to the page that shows it. */

import { get, Problem, said } from "../api/client.ts";
import { live } from "../api/events.ts";
import type { Approval, Block, Challenge, Input } from "../api/types.ts";
import { signalOf } from "./signal.ts";

export interface Waiting {
  approvals: Approval[];
  challenges: Challenge[];
  blocks: Block[];
  inputs: Input[];
}

export const waiting = signalOf<Waiting | null>(null);
export const waitingProblem = signalOf<Problem | null>(null);

const LOOK_MS = 5000;
const HIDDEN_ROUNDS = 6;
/** Several events of one moment are one reason to look. */
const SETTLE_MS = 50;

export async function lookWaiting(): Promise<void> {
  try {
    // One alone first: a key that is not taken any more is shown once, not four times, which would lock its owner out.
    const { approvals } = await get<{ approvals: Approval[] }>("approvals", { state: "pending" });
    const [{ challenges }, { blocks }, { inputs }] = await Promise.all([
      get<{ challenges: Challenge[] }>("challenges"),
      get<{ blocks: Block[] }>("blocks"),
      get<{ inputs: Input[] }>("inputs"),
    ]);
    waiting.set({ approvals, challenges, blocks, inputs });
    waitingProblem.set(null);
  } catch (error) {
    waitingProblem.set(error instanceof Problem ? error : new Problem(0, "UNREADABLE", said(error)));
  }
}

/** Looks now, whenever an event says that there is something new, and every few seconds. */
export function watchWaiting(): () => void {
  let soon: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => void lookWaiting();
  look();
  let round = 0;
  // A page in the background tells in its title how many wait, and may do so later.
  const timer = setInterval(() => (!document.hidden || ++round % HIDDEN_ROUNDS === 0) && look(), LOOK_MS);
  const stop = live.watch((events) => {
    if (!events.some(({ name }) => name === "WaitingOnSignal" || name === "SignalReceived")) return;
    clearTimeout(soon);
    soon = setTimeout(look, SETTLE_MS);
  });
  return () => {
    clearInterval(timer);
    clearTimeout(soon);
    stop();
  };
}

/** Everything that is there to be answered, by its name: where this is the same, nothing has moved. */
export function namesOf(found: Waiting | null): string {
  if (found === null) return "";
  const { approvals, inputs, challenges, blocks } = found;
  return [...approvals, ...inputs, ...challenges].map(({ id }) => id).concat(blocks.map(({ agent }) => agent)).join("\n");
}

export function countOf(found: Waiting | null): number {
  return found === null ? 0 : found.approvals.length + found.challenges.length + found.blocks.length + found.inputs.length;
}
