import { useEffect, useState } from "preact/hooks";
import { health } from "../api/client.ts";
import type { Approval, Block, Challenge, SpanRow } from "../api/types.ts";
import { ago, plain } from "../lib/format.ts";
import { useLoad, useNow, useTitle } from "../lib/hooks.ts";
import { to } from "../lib/router.ts";
import { useSignal } from "../lib/signal.ts";
import { countOf, lookWaiting, namesOf, waiting, waitingProblem } from "../lib/waiting.ts";
import { Left, Moved, useAct, useMoved } from "../parts/act.tsx";
import { Empty, Loading, ProblemNote } from "../parts/basic.tsx";
import { Code } from "../parts/code.tsx";
import { SpanTable } from "../parts/spans.tsx";
import { InputCard } from "./input.tsx";
import { CancelOperation } from "./operations.tsx";
import "../style/waiting.css";

export default function Waiting() {
  useTitle("Waiting");
  const found = useSignal(waiting);
  const notLooked = useSignal(waitingProblem);
  const role = useSignal(health)?.role ?? "operator";
  const now = useNow(1000);
  const running = useLoad<{ operations: SpanRow[] }>("operations", { status: "waiting", limit: 50 }, 3000);
  const busy = useLoad<{ operations: SpanRow[] }>("operations", { status: "running", limit: 50 }, 3000);
  const approved = useLoad<{ approvals: Approval[] }>("approvals", { state: "approved" }, 5000);
  useEffect(() => void lookWaiting(), []);
  // Whatever was asked last and not answered, nothing is known any more of who waits.
  const problem = notLooked ?? running.problem ?? busy.problem;
  const again = (): void => {
    void lookWaiting();
    running.again();
    busy.again();
  };
  const operations = [...(running.data?.operations ?? []), ...(busy.data?.operations ?? [])];
  const mayAct = role === "operator";
  // Whatever comes, goes or stands above the others moves them.
  const hasMoved = useMoved([problem !== null, mayAct, namesOf(found), ...(approved.data?.approvals ?? []).map(({ id }) => id)].join("\n"));
  const byAge = <T extends { asked_at: string }>(list: T[]): T[] => [...list].sort((a, b) => a.asked_at.localeCompare(b.asked_at));
  return (
    <Moved.Provider value={hasMoved}>
      <section class="page waiting">
        <div class="bar"><h1>Waiting</h1></div>
        <ProblemNote problem={problem} again={again} />
        {!mayAct && (
          <p class="note" role="note">Your key is a viewer's: you see what waits, and whoever has the operator's key answers it.</p>
        )}
        {!found && !problem && <Loading what="what waits" />}
        {found && !problem && countOf(found) === 0 && (
          <Empty title="Nobody waits for you">
            <p>Calls that are destructive or worse stop here until you have answered, and what servers ask a person is asked here too. The same can be done in the terminal:</p>
            <p class="command"><code>aqueduct operator pending</code></p>
            <p>What asks and what does not is up to the <code>[safety]</code> part of the configuration.</p>
          </Empty>
        )}
        {found && found.approvals.length > 0 && (
          <section aria-label="Approvals">
            <h2>To be approved</h2>
            {byAge(found.approvals).map((approval) => <ApprovalCard key={approval.id} approval={approval} now={now} mayAct={mayAct} />)}
          </section>
        )}
        {found && found.inputs.length > 0 && (
          <section aria-label="Inputs asked for">
            <h2>Asked by servers</h2>
            {byAge(found.inputs).map((input) => <InputCard key={input.id} input={input} now={now} mayAct={mayAct} />)}
          </section>
        )}
        {found && found.challenges.length > 0 && (
          <section aria-label="Verification codes">
            <h2>Verification codes</h2>
            {byAge(found.challenges).map((challenge) => <ChallengeCard key={challenge.id} challenge={challenge} now={now} mayAct={mayAct} />)}
          </section>
        )}
        {found && found.blocks.length > 0 && (
          <section aria-label="Blocked agents">
            <h2>Blocked agents</h2>
            {found.blocks.map((block) => <BlockCard key={block.agent} block={block} mayAct={mayAct} />)}
          </section>
        )}
        {approved.data && approved.data.approvals.length > 0 && (
          <section aria-label="Approved and not used yet">
            <h2>Approved, not used yet</h2>
            {approved.data.approvals.map((approval) => (
              <ApprovedLine key={approval.id} approval={approval} now={now} mayAct={mayAct} onDone={approved.again} />
            ))}
          </section>
        )}
        <section aria-label="Operations under way">
          <h2>Under way</h2>
          {operations.length === 0 && running.data && !problem && <p class="muted">No operation runs or waits right now.</p>}
          {operations.length > 0 && (
            <SpanTable spans={operations} action={(span) => <CancelOperation span={span} onDone={() => { running.again(); busy.again(); }} />} />
          )}
        </section>
      </section>
    </Moved.Provider>
  );
}

const ASKS: Record<Approval["kind"], string> = {
  call: "wants to call",
  start: "wants to begin a supervised execution by",
  pause: "is paused and wants to go on after",
};

function ApprovalCard({ approval, now, mayAct }: { approval: Approval; now: number; mayAct: boolean }) {
  const { told, isBusy, isFresh, act } = useAct();
  const [note, setNote] = useState("");
  const answer = (what: "approve" | "deny"): void =>
    void act(`approvals/${encodeURIComponent(approval.id)}/${what}`, note.trim() ? { note: note.trim() } : undefined);
  const danger = String(approval.danger_level);
  const isOver = Date.parse(approval.expires_at) <= now;
  return (
    <article class={`card danger-${danger}`} data-row tabIndex={0} aria-label={`${approval.operation}, ${danger}`}>
      <header>
        <h3>{plain(approval.operation)}</h3>
        <span class={`danger ${danger}`}>{danger}</span>
        <Left until={approval.expires_at} now={now} />
      </header>
      <p>
        <b>{plain(approval.agent ?? approval.principal)}</b> {ASKS[approval.kind]} <b>{plain(approval.operation)}</b>
        {approval.adapter && <> of <b>{plain(approval.adapter)}</b></>}
        <span class="muted"> · asked {ago(Date.parse(approval.asked_at) * 1000, now)}{approval.agent ? ` · for ${plain(approval.principal)}` : ""}{approval.trust ? ` · server is ${approval.trust}` : ""}</span>
      </p>
      {approval.message && <p>{plain(approval.message)}</p>}
      {approval.reasons.length > 0 && <ul class="reasons">{approval.reasons.map((reason) => <li key={reason}>{plain(reason)}</li>)}</ul>}
      <Code label="Parameters" value={approval.params} />
      {mayAct && (
        <footer>
          <label class="field grow"><span class="unseen">Note for the audit log</span>
            <input type="text" placeholder="Note for the audit log (may be left out)" maxLength={500} value={note} onInput={(event) => setNote(event.currentTarget.value)} />
          </label>
          <button type="button" class="approve" disabled={isBusy || isFresh || isOver} onClick={() => answer("approve")}>Approve once</button>
          <button type="button" class="deny" disabled={isBusy || isFresh || isOver} onClick={() => answer("deny")}>Deny</button>
        </footer>
      )}
      {told !== null && <p class="error-text" role="alert">{told}</p>}
      <p class="muted ids"><code>{approval.id}</code> · <a href={to.connection(approval.session_id)}>calls of its client</a></p>
    </article>
  );
}

/** A yes whose call has not come yet can be taken back. */
function ApprovedLine({ approval, now, mayAct, onDone }: { approval: Approval; now: number; mayAct: boolean; onDone(): void }) {
  const { told, isBusy, isFresh, act } = useAct();
  const revoke = async (): Promise<void> => {
    await act(`approvals/${encodeURIComponent(approval.id)}/revoke`);
    onDone();
  };
  return (
    <article class="card" data-row tabIndex={0} aria-label={`${approval.operation}, approved`}>
      <header>
        <h3>{plain(approval.operation)}</h3>
        <span class="muted">for {plain(approval.agent ?? approval.principal)}, approved by {plain(approval.answered_by ?? "somebody")}</span>
        <Left until={approval.expires_at} now={now} />
        {mayAct && <button type="button" class="deny" disabled={isBusy || isFresh} onClick={() => void revoke()}>Take back</button>}
      </header>
      <Code label="Parameters" value={approval.params} />
      {told !== null && <p class="error-text" role="alert">{told}</p>}
    </article>
  );
}

function ChallengeCard({ challenge, now, mayAct }: { challenge: Challenge; now: number; mayAct: boolean }) {
  const { told, isBusy, isFresh, act } = useAct();
  const [code, setCode] = useState<string | null>(null);
  const reveal = async (): Promise<void> => {
    const answer = (await act(`challenges/${encodeURIComponent(challenge.id)}/reveal`)) as { code?: string } | null;
    if (answer?.code) setCode(answer.code);
  };
  return (
    <article class="card" data-row tabIndex={0} aria-label={`Code for ${challenge.agent}`}>
      <header>
        <h3>{plain(challenge.agent)}</h3>
        <span class="danger destructive">{plain(challenge.tier)}</span>
        <Left until={challenge.expires_at} now={now} />
      </header>
      <p>{plain(challenge.reason)}</p>
      {challenge.hint && <p class="muted">It reported: {plain(challenge.hint)}</p>}
      {code !== null && (
        <p class="secret" role="status">
          <code>{code}</code>
          <button type="button" onClick={() => setCode(null)}>Hide</button>
        </p>
      )}
      {code !== null && <p class="muted">Give it to the person at the agent, if it is you who wants it to go on. A new one makes this one worthless.</p>}
      {mayAct && (
        <footer>
          <button type="button" disabled={isBusy || isFresh} onClick={() => void reveal()}>{code === null ? "Show the code" : "Make a new code"}</button>
        </footer>
      )}
      {told !== null && <p class="error-text" role="alert">{told}</p>}
      <p class="muted ids"><code>{challenge.id}</code> · {plain(challenge.principal)}</p>
    </article>
  );
}

function BlockCard({ block, mayAct }: { block: Block; mayAct: boolean }) {
  const { told, isBusy, isFresh, act } = useAct();
  const [reason, setReason] = useState("");
  return (
    <article class="card danger-dangerous" data-row tabIndex={0} aria-label={`Block of ${block.agent}`}>
      <header>
        <h3>{plain(block.agent)}</h3>
        <span class="danger dangerous">blocked</span>
        <span class="muted">{ago(Date.parse(block.blocked_at) * 1000)}</span>
      </header>
      <p>{plain(block.reason)}</p>
      {block.hint && <p class="muted">It reported: {plain(block.hint)}</p>}
      {mayAct && (
        <footer>
          <label class="field grow"><span class="unseen">Why the block ends</span>
            <input type="text" placeholder="Why the block ends, for the audit log" maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
          </label>
          <button type="button" class="approve" disabled={isBusy || isFresh || reason.trim() === ""} onClick={() => void act(`blocks/${encodeURIComponent(block.agent)}/unblock`, { reason: reason.trim() })}>Unblock</button>
        </footer>
      )}
      {told !== null && <p class="error-text" role="alert">{told}</p>}
      <p class="muted ids">{plain(block.principal)} · <code>{block.challenge_id}</code></p>
    </article>
  );
}
