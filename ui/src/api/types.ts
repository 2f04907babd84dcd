/** The shapes of `/api/v1`. Times are microseconds since 1970. */

export type Status = "running" | "waiting" | "ok" | "error" | "cancelled";
export type Engine = "inbound" | "asyncio" | "temporal";
export type Role = "operator" | "viewer";

export interface SpanRow {
  trace_id: string;
  span_id: string;
  parent_id: string | null;
  session_id: string;
  engine: Engine;
  name: string;
  kind: string;
  status: Status;
  started_us: number;
  ended_us: number | null;
  duration_us: number | null;
  waited_us: number;
  method: string | null;
  tool: string | null;
  operation: string | null;
  peer: string | null;
  agent: string | null;
  /** What the client calls itself, where it has said so. */
  client?: string | null;
  /** The server that was called within it. */
  server?: string | null;
  request_id: string | null;
  error: string | null;
  /** Somebody else says so; nothing of it was recorded here. */
  reported: boolean;
}

/** Spans of a trace in columns. Numbers of words count those of all blocks so far from 1; 0 is no text. */
export interface SpanBlock {
  trace_id: string;
  words: string[];
  span_ids: string;
  parent_ids: string;
  started_us: number[];
  duration_us: number[];
  waited_us: number[];
  status: number[];
  kind: number[];
  name: number[];
  operation: number[];
  tool: number[];
  peer: number[];
  agent: number[];
  error: number[];
}

/** The last line of a trace in columns. */
export interface TraceEnd {
  trace_id: string;
  truncated: boolean;
}

export type Attributes = Record<string, unknown>;

export interface SpanFull extends SpanRow {
  attributes: Attributes;
  events: { name: string; at_us: number; attributes?: Attributes }[];
  links: { trace_id: string; span_id: string; attributes?: Attributes }[];
}

export interface SessionRow {
  session_id: string;
  engine: Engine;
  status: Status;
  title: string;
  agent: string | null;
  client?: string | null;
  connection: string | null;
  principal: string | null;
  transport: string | null;
  started_us: number;
  ended_us: number | null;
  duration_us: number | null;
  span_count: number;
  error_count: number;
  tags: string[];
  reported: boolean;
}

export interface Health {
  status: string;
  version: string;
  server_id: string;
  started_us: number;
  role: Role;
  /** Null where this process records nothing. */
  recorder: { recorded: number; dropped: number; failed: number; queued: number; capacity: number } | null;
  store: Record<string, unknown> & { bytes: number; days: number; spans: number; index_lag: number };
  collectors: { name: string; queued: number; sent: number; dropped: number; failed: number; trouble: string | null }[];
  listeners?: Record<string, unknown>;
}

export interface ServerRow {
  server: string;
  calls: number;
  errors: number;
  running: number;
  p50_us: number | null;
  p95_us: number | null;
  p99_us: number | null;
  last_us: number | null;
  state: string | null;
  error?: string | null;
  tools: number | null;
  held: number;
  /** Only reports know it. */
  reported?: boolean;
}

export interface OperationStats {
  operation: string;
  calls: number;
  errors: number;
  p50_us: number | null;
  p95_us: number | null;
  p99_us: number | null;
  tokens: number | null;
}

export interface LatencyPoint {
  at_us: number;
  p50_us: number | null;
  p95_us: number | null;
  p99_us: number | null;
  calls: number;
  errors: number;
}

export interface Drift {
  tool: string;
  changes: (Record<string, unknown> & { path?: string })[];
}

export interface ServerFull {
  server: ServerRow;
  operations: OperationStats[];
  latency: LatencyPoint[];
  drift: Drift[];
}

export interface GraphNode {
  id: string;
  kind: "client" | "agent" | "server";
  label: string;
}

export interface GraphEdge {
  from: string;
  to: string;
  calls: number;
  errors: number;
  p50_us: number | null;
  p95_us: number | null;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

export interface Tokens {
  servers: { server: string; eager_tokens: number | null; tools: number }[];
  ours: { tools_list_tokens: number | null };
  calls: { operation: string; calls: number; result_tokens: number }[];
}

export interface Approval {
  id: string;
  kind: "call" | "start" | "pause";
  state: string;
  operation: string;
  adapter: string;
  session_id: string;
  principal: string;
  agent: string | null;
  danger_level: string | number;
  trust: string | null;
  reasons: string[];
  message: string;
  params: unknown;
  asked_at: string;
  expires_at: string;
  not_before: string | null;
  answered_at: string | null;
  answered_by: string | null;
  channel: string | null;
}

export interface Block {
  agent: string;
  principal: string;
  challenge_id: string;
  reason: string;
  hint: string;
  blocked_at: string;
}

export interface Challenge {
  id: string;
  state: string;
  tier: string;
  agent: string;
  principal: string;
  session_id: string;
  reason: string;
  hint: string;
  asked_at: string;
  expires_at: string;
}

export interface Choice {
  value: string;
  title?: string;
}

/** One field of a form that a server asks for. */
export type FormField = {
  name: string;
  title?: string;
  description?: string;
  required: boolean;
  default?: unknown;
} & (
  | { type: "text"; format?: "email" | "uri" | "date" | "date-time"; min_length?: number; max_length?: number }
  | { type: "number"; whole: boolean; minimum?: number; maximum?: number }
  | { type: "boolean" }
  | { type: "choice"; options: Choice[] }
  | { type: "choices"; options: Choice[]; min_items?: number; max_items?: number }
);

/** What a server asks a person. A viewer does not get the question. */
export interface Input {
  id: string;
  state: string;
  server: string;
  operation: string;
  session_id: string;
  principal: string;
  mode: "form" | "url";
  message: string;
  url?: string;
  form?: { fields: FormField[] };
  no_form?: string;
  asked_at: string;
  expires_at: string;
}

export interface AuditEntry {
  number: number;
  at: string;
  event: Record<string, unknown> & { event?: string; outcome?: string };
  hash: string;
}

export type Verified = { state: "whole"; entries: number; head: string } | { state: "broken"; why: string };

/** What an event of the stream says. Each kind has some of these. */
export interface EventData {
  at_us: number;
  session_id: string;
  trace_id: string;
  span_id: string;
  engine?: Engine;
  title?: string;
  status?: string;
  method?: string | null;
  direction?: "inbound" | "outbound" | "internal";
  tool?: string | null;
  operation?: string | null;
  peer?: string | null;
  agent?: string | null;
  client?: string | null;
  server?: string | null;
  reported?: boolean;
  name?: string | null;
  error_code?: string | number | null;
  duration_us?: number | null;
  token?: string | number;
  progress?: number;
  total?: number | null;
  message?: string | null;
  approval_id?: string;
  input_id?: string;
}

export interface LiveEvent {
  seq: string;
  name: string;
  data: EventData;
}
