import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventData, LiveEvent, SpanRow } from "../src/api/types.ts";
import { piecesOf } from "../src/lib/json.ts";
import { runsOf } from "../src/lib/runs.ts";
import { isEndable, namesOf, whereOf, whoOf } from "../src/lib/spans.ts";
import { Tail } from "../src/lib/tail.ts";
import { stepOf } from "../src/lib/times.ts";
import { indent } from "../src/trace/layout.ts";

const SPAN = { span_id: "a", trace_id: "t", session_id: "s", kind: "server", status: "running", name: "tools/call read", method: "tools/call", operation: "read", tool: null, peer: null, agent: "aqueduct", error: null, reported: false, request_id: "r" } as SpanRow;

function event(seq: number, name: string, span: string, more: Partial<EventData> = {}): LiveEvent {
  return { seq: String(seq), name, data: { at_us: seq, session_id: "s", trace_id: "t", span_id: span, ...more } };
}

test("a name is told once", () => {
  assert.deepEqual(namesOf(SPAN), { title: "read", detail: "tools/call" });
  assert.deepEqual(namesOf({ ...SPAN, operation: null }), { title: "tools/call read", detail: "" });
  assert.deepEqual(namesOf({ ...SPAN, operation: null, name: "ping", method: "ping" }), { title: "ping", detail: "" });
  assert.deepEqual(namesOf({ ...SPAN, tool: "mcp_aql", operation: null, name: "a step" }), { title: "mcp_aql", detail: "a step" });
});

test("who called is the client before the agent, and a call's own server comes before those within it", () => {
  assert.equal(whoOf({ ...SPAN, client: "desktop" }), "desktop");
  assert.equal(whoOf({ ...SPAN, client: null }), "aqueduct");
  assert.equal(whoOf(SPAN), "aqueduct");
  assert.equal(whereOf({ ...SPAN, server: "files" }), "files");
  assert.equal(whereOf({ ...SPAN, server: "files", peer: "notes" }), "notes");
  assert.equal(whereOf(SPAN), "");
});

test("only what was served or executed here can be ended, while it runs", () => {
  assert.ok(isEndable(SPAN));
  assert.ok(isEndable({ ...SPAN, status: "waiting" }));
  assert.ok(isEndable({ ...SPAN, kind: "internal", request_id: "s" }), "an execution");
  assert.ok(!isEndable({ ...SPAN, kind: "internal" }), "a step of one");
  assert.ok(!isEndable({ ...SPAN, kind: "client" }), "a call of a server, which ends with what it is for");
  assert.ok(!isEndable({ ...SPAN, reported: true }), "what somebody else says may never end");
  assert.ok(!isEndable({ ...SPAN, status: "ok" }));
});

test("a live request goes to the servers that are called within it", () => {
  const tail = new Tail();
  tail.push([event(1, "McpRequestStarted", "a", { direction: "inbound", operation: "both", client: "desktop" })]);
  tail.push([event(2, "McpRequestStarted", "b", { direction: "outbound", peer: "files" }), event(3, "McpRequestStarted", "c", { direction: "outbound", peer: "notes" })]);
  tail.push([event(4, "McpRequestStarted", "d", { direction: "outbound", peer: "files" })]);
  tail.push([event(5, "McpRequestFinished", "a", { direction: "inbound", operation: "both", status: "OK" })]);
  const row = tail.rows.find(({ span_id }) => span_id === "a");
  assert.deepEqual([row?.peer, row?.who, row?.status], ["files, notes", "desktop", "ok"]);
  // Of two that run in one session nobody knows whose call it is.
  const two = new Tail();
  two.push([event(1, "McpRequestStarted", "a", { direction: "inbound" }), event(2, "McpRequestStarted", "b", { direction: "inbound" })]);
  two.push([event(3, "McpRequestStarted", "c", { direction: "outbound", peer: "files" })]);
  assert.deepEqual(two.rows.map(({ peer }) => peer), ["files", "", ""]);
});

test("what is reported is known for it, live too", () => {
  const tail = new Tail();
  tail.seed([SPAN, { ...SPAN, span_id: "b", reported: true }]);
  assert.deepEqual(tail.rows.map(({ reported }) => reported), [false, true]);
});

test("events that were told before stand behind the others, once", () => {
  const tail = new Tail(true);
  tail.push([event(3, "SessionStarted", "c")]);
  tail.before([event(1, "SessionStarted", "a"), event(2, "SessionStarted", "b"), event(3, "SessionStarted", "c")]);
  assert.deepEqual(tail.rows.map(({ span_id }) => span_id), ["c", "b", "a"]);
});

test("a text of several lines is shown with them, and nothing in it looks like what is around it", () => {
  const text = (value: unknown): string[] => piecesOf(JSON.stringify(value, null, 2)).map(({ kind, text }) => (kind === "plain" ? text : `${kind}:${text}`));
  assert.deepEqual(text({ a: 1 }), ['{\n  ', 'name:"a"', ":", " ", "number:1", "\n}"]);
  const told = { content: 'one\n  "path": "x",\n\\n end\n', path: "/a\\n" };
  assert.deepEqual(text(told), ['{\n  ', 'name:"content"', ":", " ", `lines:${told.content}`, "  ", 'name:"path"', ":", " ", 'string:"/a\\\\n"', "\n}"]);
  const long = { a: "x".repeat(50_000), b: "1\n2" };
  assert.deepEqual(piecesOf(JSON.stringify(long, null, 2)).map(({ kind }) => kind), ["plain", "lines", "plain"]);
});

test("lines run through steps that follow each other, and stop where nothing was called", () => {
  const point = (at_us: number, p50_us: number | null = 1) => ({ at_us, p50_us, p95_us: p50_us, p99_us: p50_us, calls: 1, errors: 0 });
  const runs = runsOf([point(0), point(10), point(21), point(50), point(60, null), point(70), point(80)], 10);
  assert.deepEqual(runs.map((run) => run.map(({ at_us }) => at_us)), [[0, 10, 21], [50], [70, 80]]);
  assert.deepEqual(runsOf([], 10), []);
  assert.equal(stepOf("24h"), 24 * 60_000_000);
  assert.equal(stepOf("15m"), 60_000_000);
});

test("however deep, half of the column is left for names", () => {
  assert.deepEqual(indent(0, 460), { left: 6, isDeeper: false });
  assert.deepEqual(indent(3, 460), { left: 48, isDeeper: false });
  for (const column of [120, 220, 460]) {
    const { left, isDeeper } = indent(70, column);
    assert.ok(left <= column / 2 && isDeeper, `${left} of ${column}`);
  }
});
