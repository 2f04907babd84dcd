import { useState } from "preact/hooks";
import { health, said, useKey } from "../api/client.ts";
import type { Health } from "../api/types.ts";
import { Command, Dialog } from "./basic.tsx";

/** Asks for the key. It is tried before it is kept, and kept for this tab only. */
export function KeyDialog({ why }: { why: string | null }) {
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState<string | null>(why);
  const [isBusy, setBusy] = useState(false);

  const tryKey = async (): Promise<void> => {
    const given = key.trim();
    if (!/^[\x21-\x7e]+$/.test(given)) {
      setProblem("A key is one word of plain characters. Copy it once more.");
      return;
    }
    setBusy(true);
    try {
      const response = await fetch("/api/v1/health", {
        headers: { Authorization: `Bearer ${given}` },
        cache: "no-store",
        credentials: "omit",
      });
      if (response.ok) {
        health.set((await response.json()) as Health);
        useKey(given, true);
        return;
      }
      const body = (await response.json().catch(() => ({}))) as { error?: { message?: string } };
      setProblem(
        response.status === 401
          ? "That is not the key. After five wrong ones you have to wait."
          : (body.error?.message ?? `The gateway answered ${response.status}.`),
      );
    } catch (error) {
      setProblem(`The gateway does not answer: ${said(error)}`);
    }
    setBusy(false);
  };

  return (
    <Dialog title="The operator's key" required>
      <form
        class="key"
        onSubmit={(event) => {
          event.preventDefault();
          void tryKey();
        }}
      >
        <p>
          The gateway printed the path of the file <code>operator.key</code> when it started; it lies in the data directory. Who
          may only look takes <code>viewer.key</code> beside it.
        </p>
        <Command>cat DATA_DIRECTORY/operator.key</Command>
        <label class="field">
          <span>Key</span>
          <input
            type="password"
            value={key}
            autocomplete="off"
            spellcheck={false}
            autofocus
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        {problem !== null && <p class="error-text" role="alert">{problem}</p>}
        <button type="submit" class="primary" disabled={isBusy || key.trim() === ""}>
          Open the Inspector
        </button>
        <p class="muted">It is kept for this tab until you close it, and sent to this gateway only.</p>
      </form>
    </Dialog>
  );
}
