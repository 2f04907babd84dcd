import assert from "node:assert/strict";
import { test } from "node:test";
import type { SpanBlock, SpanRow } from "../src/api/types.ts";
import { bar, density, pan, ticks, whole, zoom } from "../src/trace/layout.ts";
import { build as treeOf, type Columns, matching, rowOf, spanId, visible, word } from "../src/trace/model.ts";
import { addRows, TraceReader } from "../src/trace/read.ts";
import { ERROR, Table } from "../src/trace/table.ts";

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

function build(...spans: SpanRow[]): Columns {
  const table = new Table();
  addRows(table, spans);
  return treeOf(table, NOW);
}

/** The same spans as the server tells them in columns, so many in a block. */
function lines(spans: SpanRow[], blockSpans: number): Uint8Array<ArrayBuffer> {
  const numbers = new Map<string, number>();
  const told: string[] = [];
  for (let from = 0; from < spans.length; from += blockSpans) {
    const some = spans.slice(from, from + blockSpans);
    const words: string[] = [];
    const number = (word: string | null): number => {
      if (!word) return 0;
      if (!numbers.has(word)) numbers.set(word, words.push(word) && numbers.size + 1);
      return numbers.get(word) as number;
    };
    const numbersOf = (name: "status" | "kind" | "name" | "operation" | "tool" | "peer" | "agent" | "error"): number[] => some.map((one) => number(one[name]));
    const block: SpanBlock = {
      trace_id: some[0]?.trace_id ?? "",
      words,
      span_ids: some.map((one) => one.span_id).join(""),
      parent_ids: some.map((one) => one.parent_id ?? "0".repeat(16)).join(""),
      started_us: some.map((one, i) => one.started_us - (some[i - 1]?.started_us ?? 0)),
      duration_us: some.map((one) => one.duration_us ?? -1),
      waited_us: some.map((one) => one.waited_us),
      status: numbersOf("status"),
      kind: numbersOf("kind"),
      name: numbersOf("name"),
      operation: numbersOf("operation"),
      tool: numbersOf("tool"),
      peer: numbersOf("peer"),
      agent: numbersOf("agent"),
      error: numbersOf("error"),
    };
    told.push(JSON.stringify(block));
  }
  const end = { trace_id: spans[0]?.trace_id, truncated: true };
  return new TextEncoder().encode([...told, JSON.stringify(end), ""].join("\n"));
}

function reading(bytes: Uint8Array, pieceBytes: number): TraceReader {
  const reader = new TraceReader();
  for (let i = 0; i < bytes.length; i += pieceBytes) reader.push(bytes.slice(i, i + pieceBytes));
  return reader;
}

/** What a person sees of a row, whatever numbers its words have. */
function seen(columns: Columns): unknown[] {
  const texts = [columns.name, columns.operation, columns.peer, columns.agent, columns.kind, columns.trace, columns.error];
  const numbers = [columns.start, columns.duration, columns.waited, columns.status, columns.depth, columns.parent, columns.failed];
  return Array.from({ length: columns.length }, (_, i) => [
    spanId(columns, i), ...texts.map((column) => word(columns, column[i])), ...numbers.map((column) => column[i]),
  ]);
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

test("a trace is read in pieces of any size, and is what its rows are", () => {
  const tricky = [
    span(1, null, 1_763_286_000_123_456, { name: 'quote " and \\ and ]} [{ end', agent: "a" }),
    span(2, 1, 1_763_286_000_123_400, { name: "ends with a backslash \\", status: "cancelled", error: "漢字 😀 \u0007\n" }),
    span(3, 1, 1_763_286_000_123_999, { name: '"truncated":', duration_us: null, status: "running", waited_us: 7 }),
    span(0xfedc_ba98_7654, 2, 1_763_286_000_123_457, { operation: null, tool: "t", peer: "p", kind: "client" }),
    span(5, 0xfedc_ba98_7654, 1_763_286_000_123_457, { operation: "o", tool: "t", status: "error", error: "a" }),
    span(6, 77, 1_763_286_000_123_456, { status: "waiting", name: "", duration_us: null }),
  ];
  const expected = build(...tricky);
  assert.deepEqual(seen(expected).map((row) => parseInt((row as string[])[0] ?? "", 16)), [1, 2, 0xfedc_ba98_7654, 5, 3, 6]);
  assert.equal(word(expected, expected.operation[2]), "t");
  assert.equal(expected.origin, 1_763_286_000_123_400);
  for (const blockSpans of [1, 2, 5, 6, 100]) {
    const bytes = lines(tricky, blockSpans);
    for (const size of [1, 2, 3, 7, 64, 1000, bytes.length]) {
      const reader = reading(bytes, size);
      const columns = treeOf(reader.table, NOW);
      assert.deepEqual(seen(columns), seen(expected), `blocks of ${blockSpans}, pieces of ${size}`);
      assert.deepEqual([columns.origin, columns.end, columns.errors, columns.open, columns.orphans], [expected.origin, expected.end, 1, 2, 1]);
      assert.deepEqual(reader.end(), { trace_id: tricky[0]?.trace_id, truncated: true });
    }
  }
});

test("thousands of different words and spans are all kept", () => {
  const many = Array.from({ length: 5000 }, (_, i) => span(i + 1, null, i));
  const read = treeOf(reading(lines(many, 700), 65_536).table, NOW);
  for (const columns of [build(...many), read]) {
    assert.equal(columns.length, 5000);
    for (const i of [0, 1, 999, 1024, 4999]) {
      assert.equal(word(columns, columns.name[i]), `span ${i + 1}`);
      assert.equal(rowOf(columns, (i + 1).toString(16).padStart(16, "0")), i);
    }
  }
});

test("a trace that was cut off is an error", () => {
  const bytes = lines([span(1, null, 1), span(2, 1, 2)], 1);
  const ends = [...bytes.keys()].filter((i) => bytes[i] === 0x0a);
  for (const length of [0, 5, (ends[0] ?? 0) + 1, (ends[1] ?? 0) + 1, bytes.length - 1]) {
    const cut = reading(bytes.slice(0, length), 64);
    assert.throws(() => cut.end(), /broke off/, `${length} bytes`);
  }
  assert.equal(reading(bytes, 64).end().truncated, true);
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
