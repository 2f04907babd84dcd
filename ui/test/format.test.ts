import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, bytes, count, duration, left, plain, share, step } from "../src/lib/format.ts";

test("durations have three digits and the unit that fits", () => {
  const cases: [number | null, string][] = [
    [null, "–"],
    [0, "0 µs"],
    [999, "999 µs"],
    [999.6, "1 ms"],
    [1234, "1.23 ms"],
    [12_340, "12.3 ms"],
    [100_000, "100 ms"],
    [999_499, "999 ms"],
    [999_600, "1 s"],
    [1_500_000, "1.5 s"],
    [59_900_000, "59.9 s"],
    [59_960_000, "1 min 00 s"],
    [125_000_000, "2 min 05 s"],
    [3_600_000_000, "1 h 00 min"],
    [90_000_000_000, "1 d 1 h"],
    [-1500, "−1.5 ms"],
    [NaN, "–"],
  ];
  for (const [us, text] of cases) assert.equal(duration(us), text, String(us));
});

test("counts, sizes and shares", () => {
  assert.equal(count(1_234_567), "1\u2009234\u2009567");
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(30_720), "30.7 kB");
  assert.equal(bytes(2e9), "2 GB");
  assert.equal(share(0, 0), "0 %");
  assert.equal(share(1, 10_000), "< 0.1 %");
  assert.equal(share(1, 3), "33 %");
  assert.equal(share(1, 50), "2 %");
});

test("what is left and what is past", () => {
  assert.equal(left(-1), "expired");
  assert.equal(left(61_000), "1:01");
  assert.equal(left(7_260_000), "2 h 01 min");
  assert.equal(ago(null), "never");
  assert.equal(ago(0, 90_000), "1 min ago");
});

test("steps of an axis are round", () => {
  assert.equal(step(1000, 10), 100);
  assert.equal(step(1000, 3), 500);
  assert.equal(step(0, 3), 1);
});

test("characters that cannot be seen or that turn a line are written out", () => {
  assert.equal(plain("a\u202eb\u200bc\u0007"), "a\\u{202e}b\\u{200b}c\\u{7}");
  assert.equal(plain("tag\u{e0041}"), "tag\\u{e0041}");
  assert.equal(plain("line\nnext\tcell ä 漢 😀"), "line\nnext\tcell ä 漢 😀");
});
