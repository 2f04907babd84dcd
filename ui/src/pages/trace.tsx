import { address } from "../api/client.ts";
import { useTitle } from "../lib/hooks.ts";
import { usePlace } from "../lib/router.ts";
import { short } from "../lib/format.ts";
import { TraceView } from "../trace/view.tsx";

export default function Trace() {
  const { path } = usePlace();
  const id = path[1] ?? "";
  useTitle(`Trace ${short(id)}`);
  return <TraceView url={address(`traces/${encodeURIComponent(id)}?as=columns`)} title={`Trace ${id}`} id={id} />;
}
