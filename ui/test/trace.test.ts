import assert from "node:assert/strict";
import { test } from "node:test";
import type { SpanRow } from "../src/api/types.ts";
import { bar, density, pan, ticks, whole, zoom } from "../src/trace/layout.ts";
import { build as treeOf, type Columns, matching, rowOf, spanId, visible, word } from "../src/trace/model.ts";
import { SpanReader } from "../src/trace/stream.ts";
import { ERROR } from "../src/trace/table.ts";

function span(id: number, parent: number | null, started: number, more: Partial<SpanRow> = {}): SpanRow {
  const hex = (value: number): string => value.toString(16).padStart(16, "0");
  return {
    trace_id: "0af7651916cd43dd8448eb211c80319c",
    span_id: hex(id),
    parent_id: parent === null ? null : hex(parent),
    session_id: "s",
    engine: "inbound",
    name: `span ${id}`,
    kind: "server",
    status: "ok",
    started_us: started,
    ended_us: started + 10,
    duration_us: 10,
    waited_us: 0,
    method: null,
    tool: null,
    operation: null,
    peer: null,
    agent: null,
    request_id: null,
    error: null, reported: false,
    ...more,
  };
}

const NOW = 1_000_000;

function build(...spans: unknown[]): Columns {
  const reader = new SpanReader();
  reader.push(new TextEncoder().encode(JSON.stringify({ spans })));
  assert.deepEqual(reader.end(), { spans: [] });
  return treeOf(reader.table, NOW);
}

test("rows stand in the order of the tree, children by their start", () => {
  const columns = build(span(4, 1, 30), span(3, 2, 15), span(1, null, 10), span(2, 1, 12), span(9, 77, 5));
  const names = [...columns.name].map((name) => word(columns, name));
  assert.deepEqual(names, ["span 9", "span 1", "span 2", "span 3", "span 4"]);
  assert.deepEqual([...columns.depth], [0, 0, 1, 2, 1]);
  assert.deepEqual([...columns.below], [0, 3, 1, 0, 0]);
  assert.deepEqual([...columns.parent], [-1, -1, 1, 2, 1]);
  assert.equal(columns.orphans, 1);
  assert.equal(columns.origin, 5);
  assert.equal(columns.end, 35);
  assert.equal(spanId(columns, 3), "0000000000000003");
  assert.equal(rowOf(columns, "0000000000000004"), 4);
  assert.equal(rowOf(columns, "00000000000000ff"), -1);
});

test("spans that are each other's parents are shown all the same", () => {
  const columns = build(span(1, 2, 10), span(2, 1, 20), span(3, 3, 30));
  assert.equal(columns.length, 3);
  assert.deepEqual([...columns.depth], [0, 0, 1]);
  assert.equal([...columns.parent].filter((parent) => parent === -1).length, 2);
});

test("a span that comes again takes the place of what was known", () => {
  const columns = build(span(1, null, 10, { status: "running", duration_us: null }), span(1, null, 10));
  assert.equal(columns.length, 1);
  assert.equal(columns.duration[0], 10);
  assert.equal(columns.open, 0);
});

test("what runs lasts until now", () => {
  const columns = build(span(1, null, 999_000, { status: "running", duration_us: null, ended_us: null }));
  assert.equal(columns.end, 1000);
  assert.equal(columns.open, 1);
});

test("collapsed rows hide what is below them, and failures show above", () => {
  const columns = build(
    span(1, null, 1),
    span(2, 1, 2),
    span(3, 2, 3, { status: "error", error: "boom" }),
    span(4, 1, 4),
  );
  assert.deepEqual([...visible(columns, new Set())], [0, 1, 2, 3]);
  assert.deepEqual([...visible(columns, new Set([1]))], [0, 1, 3]);
  assert.deepEqual([...visible(columns, new Set([0, 1]))], [0]);
  assert.deepEqual([...columns.failed], [1, 1, 1, 0]);
  assert.deepEqual([...(matching(columns, "BOOM", false) ?? [])], [0, 0, 1, 0]);
  assert.deepEqual([...(matching(columns, "", true) ?? [])], [0, 0, 1, 0]);
  assert.equal(matching(columns, " ", false), null);
});

test("the deepest tree needs no stack", () => {
  const deep = Array.from({ length: 100_000 }, (_, i) => span(i + 1, i === 0 ? null : i, i));
  const columns = build(...deep);
  assert.equal(columns.below[0], 99_999);
  assert.equal(columns.depth[99_999], 65_535);
});

test("an answer is read in pieces of any size", () => {
  const tricky = [
    span(1, null, 1, { name: 'quote " and \\ and ]} [{ end' }),
    span(2, 1, 2, { name: "ends with a backslash \\", status: "cancelled", error: "漢字 😀 \u0007" }),
    { attributes: { "a]": ["}", { b: '"' }] }, events: [], ...span(3, 1, 3, { name: '"spans":[', duration_us: null }) },
    { ...span(0xfedc_ba98_7654, 2, 1_763_286_000_123_456, { operation: null, tool: "t" }), waited_us: 1.5 },
  ];
  const session = { tags: ["a", "]"], title: 'ä漢 "spans": [', more: [[1], { spans: [5] }] };
  const answer = { session, spans: tricky, truncated: false };
  const texts = [JSON.stringify(answer), JSON.stringify(answer, null, 2)];
  const expected = build(...tricky);
  assert.deepEqual([...expected.name].map((name) => word(expected, name)), tricky.map((one) => one.name).toSpliced(1, 3, "ends with a backslash \\", "span 280223976814164", '"spans":['));
  assert.equal(word(expected, expected.error[1]), "漢字 😀 \u0007");
  assert.equal(word(expected, expected.operation[2]), "t");
  assert.equal(expected.start[2], 1_763_286_000_123_455);
  assert.equal(expected.waited[2], 1.5);
  assert.equal(expected.duration[3], -1);
  assert.equal(spanId(expected, 2), "0000fedcba987654");
  for (const text of texts) {
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 2, 3, 5, 7, 16, 64, 1000, bytes.length]) {
      const reader = new SpanReader();
      for (let i = 0; i < bytes.length; i += size) reader.push(bytes.slice(i, i + size));
      assert.deepEqual(treeOf(reader.table, NOW), expected, `pieces of ${size}`);
      assert.deepEqual(reader.end(), { ...answer, spans: [] }, `pieces of ${size}`);
    }
  }
});

test("thousands of different words and spans are all kept", () => {
  const many = Array.from({ length: 5000 }, (_, i) => span(i + 1, null, i));
  const columns = build(...many);
  assert.equal(columns.length, 5000);
  for (const i of [0, 1, 999, 1024, 4999]) {
    assert.equal(word(columns, columns.name[i]), `span ${i + 1}`);
    assert.equal(rowOf(columns, (i + 1).toString(16).padStart(16, "0")), i);
  }
});

test("an answer that was cut off is an error, and one without spans is none", () => {
  const cut = new SpanReader();
  cut.push(new TextEncoder().encode('{"spans": [{"a": 1}, {"b'));
  assert.throws(() => cut.end());
  const none = new SpanReader();
  none.push(new TextEncoder().encode('{"spans" : [ ] , "truncated": true}'));
  assert.equal(none.table.length, 0);
  assert.deepEqual(none.end(), { spans: [], truncated: true });
});

test("bars are in the window, at least two pixels wide, with their waiting part", () => {
  const window = { from: 100, to: 200 };
  assert.equal(bar(window, 50, 1000, 0, 50, 0), null);
  assert.equal(bar(window, 50, 1000, 250, 50, 0), null);
  assert.deepEqual(bar(window, 50, 1000, 150, 10, 5), { x: 550, width: 100, waitWidth: 50 });
  assert.deepEqual(bar(window, 50, 1000, 0, 1000, 0), { x: 50, width: 1000, waitWidth: 0 });
  assert.deepEqual(bar(window, 50, 1000, 200, 0, 0), { x: 1048, width: 2, waitWidth: 0 });
});

test("zooming keeps the point under the pointer and stays within the trace", () => {
  const window = zoom(whole(1000), 1000, 250, 0.5);
  assert.deepEqual(window, { from: 125, to: 625 });
  assert.deepEqual(zoom(window, 1000, 250, 100), { from: 0, to: 1000 });
  assert.deepEqual(pan(window, 1000, 900), { from: 500, to: 1000 });
  assert.deepEqual(pan(window, 1000, -900), { from: 0, to: 500 });
  assert.equal(zoom(whole(1000), 1000, 500, 1e-9).to - zoom(whole(1000), 1000, 500, 1e-9).from, 10);
});

test("ticks are round and inside", () => {
  const found = ticks({ from: 0, to: 1000 }, 10, 550);
  assert.deepEqual(found.map((tick) => tick.at), [0, 200, 400, 600, 800, 1000]);
  assert.equal(found[5]?.x, 560);
  assert.deepEqual(ticks({ from: 5, to: 5 }, 0, 500), []);
});

test("the density counts what runs together and where it failed", () => {
  const found = density(Float64Array.of(0, 0, 50), Float64Array.of(99, 10, -1), Uint8Array.of(2, ERROR, 0), ERROR, 100, 10);
  assert.deepEqual([...found.running], [2, 2, 1, 1, 1, 2, 2, 2, 2, 2]);
  assert.equal(found.most, 2);
  assert.deepEqual([...found.errors], [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
});
