import { useState } from "preact/hooks";
import { address, health, post, said } from "../api/client.ts";
import type { SessionRow } from "../api/types.ts";
import { useTitle } from "../lib/hooks.ts";
import { plain, short } from "../lib/format.ts";
import { usePlace } from "../lib/router.ts";
import { useSignal } from "../lib/signal.ts";
import { EngineMark, ReportedMark, StatusMark } from "../parts/basic.tsx";
import { TraceView } from "../trace/view.tsx";

export default function Session() {
  const { path } = usePlace();
  const id = path[1] ?? "";
  useTitle(`Session ${short(id)}`);
  return (
    <TraceView
      url={address(`sessions/${encodeURIComponent(id)}`)}
      title={`Session ${id}`}
      id={id}
      head={({ envelope }) => {
        const session = envelope?.["session"] as SessionRow | undefined;
        return session && <Head session={session} />;
      }}
    />
  );
}

function Head({ session }: { session: SessionRow }) {
  const role = useSignal(health)?.role;
  const [told, setTold] = useState<string | null>(null);
  const isOpen = session.status === "running" || session.status === "waiting";
  const cancel = async (): Promise<void> => {
    if (!confirm("Cancel everything that runs in this session?")) return;
    try {
      const { cancelled } = await post<{ cancelled: number }>(`sessions/${encodeURIComponent(session.session_id)}/cancel`);
      setTold(`${cancelled} cancelled`);
    } catch (error) {
      setTold(said(error));
    }
  };
  return (
    <>
      <StatusMark status={session.status} /> <EngineMark engine={session.engine} />
      {session.agent && <a class="tag" href={`/sessions?agent=${encodeURIComponent(session.agent)}`}>{plain(session.agent)}</a>}
      <ReportedMark reported={session.reported} />
      {session.tags.map((tag) => <span key={tag} class="tag">{plain(tag)}</span>)}
      {isOpen && role === "operator" && <button type="button" onClick={() => void cancel()}>Cancel the session</button>}
      {isOpen && role === "viewer" && <span class="muted">Your key may look, and cancel nothing.</span>}
      {told !== null && <span role="status">{told}</span>}
    </>
  );
}
