import assert from "node:assert/strict";
import { test } from "node:test";
import { Parser } from "../src/api/sse.ts";

const STREAM = [
  ": hello\r\n\r\n",
  "id: 7\nevent: McpRequestStarted\ndata: {\"a\":1}\n\n",
  "data: two\rdata:  lines\r\r",
  "id: 9\r\nevent: X\r\n\r\n",
  "retry: 250\ndata\n\n",
  "event: lost\ndata: unfinished\n",
].join("");

test("events are the same however the text is cut", () => {
  const whole = new Parser();
  const expected = whole.push(STREAM);
  assert.deepEqual(expected, [
    { id: "7", event: "McpRequestStarted", data: '{"a":1}' },
    { id: "7", event: "message", data: "two\n lines" },
    { id: "9", event: "message", data: "" },
  ]);
  assert.equal(whole.retry, 250);
  assert.equal(whole.id, "9");
  for (let size = 1; size < 40; size++) {
    const parser = new Parser();
    const got = [];
    for (let i = 0; i < STREAM.length; i += size) got.push(...parser.push(STREAM.slice(i, i + size)));
    assert.deepEqual(got, expected, `pieces of ${size}`);
  }
});

test("an id with a zero character and a retry that is no number are ignored", () => {
  const parser = new Parser();
  parser.push("id: 5\ndata: x\n\n");
  assert.deepEqual(parser.push("id: 6\0\nretry: soon\nunknown: y\ndata: z\n\n"), [{ id: "5", event: "message", data: "z" }]);
  assert.equal(parser.retry, null);
});

test("a byte order mark in front is no part of the first field", () => {
  assert.equal(new Parser().push("\ufeffdata: x\n\n").length, 1);
});
