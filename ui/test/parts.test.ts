import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventData, FormField, LiveEvent, SpanRow } from "../src/api/types.ts";
import { contentOf, type Filled, startOf } from "../src/lib/form.ts";
import { layout, NODE_WIDTH } from "../src/lib/layers.ts";
import { fits, ROWS_MAX, Tail } from "../src/lib/tail.ts";
import { argumentsOf, cutOf, isMark, resourceOf, resultsOf } from "../src/trace/values.ts";

function event(seq: number, name: string, span: string, more: Partial<EventData> = {}): LiveEvent {
  return { seq: String(seq), name, data: { at_us: seq, session_id: "s", trace_id: "t", span_id: span, ...more } };
}

test("a request is one row from its start to its end", () => {
  const tail = new Tail();
  tail.push([event(1, "McpRequestStarted", "a", { operation: "read", peer: "files", direction: "outbound" })]);
  assert.equal(tail.rows[0]?.status, "running");
  tail.push([event(2, "McpRequestStarted", "b"), event(3, "ProgressUpdate", "a", { progress: 1, total: 4, message: "half" })]);
  assert.equal(tail.rows[1]?.detail, "25 % half");
  tail.push([event(4, "McpRequestFinished", "a", { status: "ERROR", error_code: "TIMEOUT", duration_us: 5, operation: "read" })]);
  assert.equal(tail.rows.length, 2);
  assert.deepEqual(
    tail.rows.map((row) => [row.span_id, row.status, row.at_us, row.error]),
    [["b", "running", 2, ""], ["a", "error", 1, "TIMEOUT"]],
  );
});

test("a request waits and goes on in its row, and is cancelled where it was", () => {
  const tail = new Tail();
  tail.push([event(1, "McpRequestStarted", "a", { operation: "erase" })]);
  tail.push([event(2, "WaitingOnSignal", "a", { approval_id: "appr_1" })]);
  const paused = tail.rows;
  assert.deepEqual([paused.length, paused[0]?.status, paused[0]?.detail], [1, "waiting", "waits for approval"]);
  tail.push([event(3, "SignalReceived", "a")]);
  assert.deepEqual([tail.rows.length, tail.rows[0]?.status], [1, "running"]);
  tail.push([event(4, "McpRequestFinished", "a", { status: "ERROR", error_code: "CANCELLED" })]);
  assert.deepEqual([tail.rows.length, tail.rows[0]?.status], [1, "cancelled"]);
  assert.equal(paused[0]?.status, "waiting", "what was handed out before stays as it was");
});

test("a session is no row beside its request, unless every event is one", () => {
  const events = [event(1, "SessionStarted", "a"), event(2, "McpRequestStarted", "a"), event(3, "SessionFinished", "a")];
  const [requests, everything] = [new Tail(), new Tail(true)];
  requests.push(events);
  everything.push(events);
  assert.deepEqual([requests.rows.length, everything.rows.length], [1, 3]);
});

test("every event is a row where that is asked for", () => {
  const tail = new Tail(true);
  tail.push([event(1, "McpRequestStarted", "a"), event(2, "McpRequestFinished", "a", { status: "OK" })]);
  assert.deepEqual(tail.rows.map((row) => row.kind), ["McpRequestFinished", "McpRequestStarted"]);
});

test("an end whose start was missed is shown, and old rows are let go", () => {
  const tail = new Tail();
  tail.push([event(1, "McpRequestFinished", "x", { status: "OK", method: "ping" })]);
  assert.equal(tail.rows[0]?.title, "ping");
  tail.push(Array.from({ length: ROWS_MAX + 5 }, (_, i) => event(i + 2, "McpRequestStarted", `n${i}`)));
  assert.equal(tail.rows.length, ROWS_MAX);
  assert.equal(tail.seen, ROWS_MAX + 6);
});

test("what was there before fills the view behind what is new", () => {
  const tail = new Tail();
  tail.push([event(9, "McpRequestStarted", "a", { operation: "new" })]);
  const span = { span_id: "b", trace_id: "t", session_id: "s", started_us: 1, kind: "server", status: "running", name: "tools/call", operation: "old", tool: null, peer: null, agent: null, error: null, duration_us: null } as SpanRow;
  tail.seed([{ ...span, span_id: "a" }, span]);
  assert.deepEqual(tail.rows.map((row) => row.title), ["new", "old"]);
  tail.push([event(10, "McpRequestFinished", "b", { status: "OK", operation: "old" })]);
  assert.equal(tail.rows[1]?.status, "ok");
});

test("a filter asks for every word", () => {
  const tail = new Tail();
  tail.push([event(1, "McpRequestStarted", "a", { operation: "Read", peer: "files" })]);
  const row = tail.rows[0];
  assert.ok(row);
  assert.ok(fits(row, "files read", ""));
  assert.ok(!fits(row, "files write", ""));
  assert.ok(!fits(row, "", "ok"));
});

/** REQ-IUI-04 */
test("a value that was cut is known for it, with what is known of the whole", () => {
  const attributes = { "mcp.tool.output_json": "{", "mcp.tool.output_json_truncated": true, "mcp.tool.output_json_bytes": 40_000, "lonely_bytes": 5 };
  assert.deepEqual(cutOf(attributes, "mcp.tool.output_json"), { size: 40_000, hash: null });
  assert.equal(cutOf({ a: "x", a_truncated: false }, "a"), null);
  assert.ok(isMark(attributes, "mcp.tool.output_json_bytes"));
  assert.ok(!isMark(attributes, "lonely_bytes"));
  assert.deepEqual(resultsOf(attributes), ["mcp.tool.output_json"]);
  assert.deepEqual(argumentsOf(attributes), []);
});

/** REQ-IUI-05 */
test("a resource that was read is its address and type", () => {
  const attributes = { "mcp.resource.uri": "file:///a.txt", "mcp.resource.mime_type": "text/plain", "mcp.resource.bytes": 3 };
  assert.deepEqual(resourceOf(attributes), { uri: "file:///a.txt", type: "text/plain", size: 3 });
  assert.equal(resourceOf({ ...attributes, "mcp.tool.name": "t" }), null);
  assert.equal(resourceOf({}), null);
});

/** REQ-IUI-02 */
test("who calls stands left of who is called, and circles end", () => {
  const node = (id: string) => ({ id, kind: "agent" as const, label: id });
  const edge = (from: string, to: string) => ({ from, to, calls: 1, errors: 0, p50_us: null, p95_us: null });
  const drawn = layout({
    nodes: ["a", "b", "c", "alone"].map(node),
    edges: [edge("a", "b"), edge("b", "c"), edge("a", "c"), edge("c", "a"), edge("b", "b"), edge("a", "gone")],
  });
  const x = new Map(drawn.nodes.map((placed) => [placed.id, placed.x]));
  assert.ok((x.get("a") ?? 0) < (x.get("b") ?? 0) && (x.get("b") ?? 0) < (x.get("c") ?? 0));
  assert.equal(drawn.nodes.length, 4);
  assert.equal(drawn.edges.length, 5);
  // The long edge has a place of its own in the layer that it passes.
  const long = drawn.edges.find((one) => one.from === "a" && one.to === "c");
  const passed = drawn.nodes.find((placed) => placed.id === "b");
  assert.ok(long && passed);
  const [, , y] = /L(\S+) (\S+)/.exec(long.path) ?? [];
  assert.ok(Number(y) < passed.y || Number(y) > passed.y + 44, long.path);
  assert.ok(drawn.width >= 3 * NODE_WIDTH && drawn.height > 0);
  assert.deepEqual(layout({ nodes: [], edges: [] }).nodes, []);
  // Two layers go into a telephone's width, and three come as near as they may.
  const two = { nodes: ["a", "b"].map(node), edges: [edge("a", "b")] };
  assert.ok(layout(two, 360).width <= 360);
  assert.ok(layout(two).width > 360);
});

test("no two numbers of the call graph stand on each other", () => {
  const ids = Array.from({ length: 8 }, (_, i) => `n${i}`);
  const nodes = ids.map((id) => ({ id, kind: "agent" as const, label: id }));
  const edges = ids.slice(0, 4).flatMap((from) => ids.slice(4).map((to) => ({ from, to, calls: 1, errors: 0, p50_us: null, p95_us: null })));
  const drawn = layout({ nodes, edges }).edges;
  const near = drawn.filter((one, i) => drawn.some((other, j) => j > i && Math.abs(one.labelX - other.labelX) < 6 && Math.abs(one.labelY - other.labelY) < 12));
  assert.deepEqual(near.map(({ from, to }) => `${from} ${to}`), []);
});

test("a form sends what was filled in, as the kinds that were asked for", () => {
  const fields: FormField[] = [
    { type: "text", name: "name", title: "Your name", required: true },
    { type: "text", name: "nick", required: false },
    { type: "number", name: "age", whole: true, required: false, default: 7 },
    { type: "boolean", name: "sure", required: true, default: true },
    { type: "choice", name: "size", required: false, options: [{ value: "s" }, { value: "l", title: "Large" }] },
    { type: "choices", name: "days", required: true, options: [{ value: "mo" }] },
    { type: "text", name: "__proto__", required: false },
  ];
  const start = Object.fromEntries(fields.map((field) => [field.name, startOf(field)]));
  assert.deepEqual(contentOf(fields, start), { content: { age: 7, sure: true, days: [] }, missing: ["Your name"] });
  const filled = Object.fromEntries([...Object.entries(start), ["name", "Ada"], ["age", "many"], ["size", "l"], ["days", ["mo"]], ["__proto__", "x"]]);
  const { content, missing } = contentOf(fields, filled as Record<string, Filled>);
  assert.deepEqual(missing, []);
  assert.equal(JSON.stringify(content), '{"name":"Ada","age":"many","sure":true,"size":"l","days":["mo"],"__proto__":"x"}');
});
