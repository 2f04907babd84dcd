// Measures the Inspector's page in a real browser, against a gateway of its own with real calls and a real store.
//
//   node bench/page.mjs MODULES CHROMIUM [AQUEDUCT]
//
// MODULES is a directory from which 'playwright' can be loaded, CHROMIUM the browser, AQUEDUCT a release build. Times and targets are
// printed, never asserted.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import path from "node:path";

import { connect } from "../tests/pages/client.mjs";

const [modules, chromiumPath, aqueduct = "target/release/aqueduct"] = process.argv.slice(2);
const { chromium } = createRequire(path.join(modules, "x.js"))("playwright");
const CALLS = 500;
const SPANS = 100_000;
const TRACE = "0af7651916cd43dd8448eb211c80319c";

const directory = mkdtempSync(path.join(tmpdir(), "aqueduct-page-"));
const data = path.join(directory, "data");
const config = path.join(directory, "aqueduct.toml");
writeFileSync(config, "[operator]\nhttp = '127.0.0.1:0'\ndialog = false\n");

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const part = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
const ms = (number) => `${number.toFixed(1)} ms`;
const told = (what, value, target) => console.log(`${what.padEnd(58)} ${value.padStart(12)}   target: ${target}`);

/** One request with thousands of calls within it, three levels deep. */
function lines() {
  const start = BigInt(Date.now() - 60_000) * 1_000_000n;
  const id = (number) => (number + 1).toString(16).padStart(16, "0");
  const rows = [];
  for (let i = 0; i < SPANS; i++) {
    const began = start + BigInt(i) * 500_000n;
    const length = i === 0 ? BigInt(SPANS) * 500_000n + 2_000_000n : i % 50 === 1 ? 24_000_000n : 400_000n;
    const parent = i === 0 ? undefined : i % 50 === 1 ? id(0) : id(i - ((i + 49) % 50));
    rows.push(
      `{"trace_id":"${TRACE}","span_id":"${id(i)}",${parent ? `"parent_id":"${parent}",` : ""}"session_id":"bench","engine":"asyncio",` +
        `"name":"tools/call read_${i % 40}","kind":"${i % 50 === 1 ? "internal" : "client"}","status":"${i % 97 === 0 ? "error" : "ok"}",` +
        `"started_ns":${began},"ended_ns":${began + length},"waited_ns":0,` +
        `"attributes":{"mcp.rpc.method":"tools/call","mcp.tool.name":"read_${i % 40}","mcp.peer.server_id":"files"}}`,
    );
  }
  return rows.join("\n");
}

/** Notes in the page when events come in and when rows of them are there to be seen. */
function watch() {
  window.came = new Map();
  window.shown = new Map();
  const clock = () => performance.timeOrigin + performance.now();
  const look = () => {
    for (const link of document.querySelectorAll("tbody a[data-row]")) {
      const trace = /traces\/([0-9a-f]+)/.exec(link.getAttribute("href") ?? "")?.[1];
      if (trace && !window.shown.has(trace)) window.shown.set(trace, clock());
    }
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  void (async () => {
    const response = await fetch("/api/v1/events", { headers: { Authorization: `Bearer ${sessionStorage.getItem("aqueduct.key")}` } });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      const at = clock();
      text += value;
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      for (const one of parts.filter((one) => one.includes("event: McpRequestStarted"))) {
        const data = JSON.parse(/^data: (.*)$/m.exec(one)?.[1] ?? "{}");
        window.came.set(data.trace_id, [data.at_us / 1000, at]);
      }
    }
  })();
}

async function live(page, call) {
  await page.goto(`${page.base}/live`);
  await page.getByText("live", { exact: true }).first().waitFor();
  await page.evaluate(watch);
  await pause(1000);
  for (let i = 0; i < CALLS; i++) {
    await call();
    await pause(20);
  }
  await pause(1500);
  const { came, shown } = await page.evaluate(() => ({ came: [...window.came], shown: [...window.shown] }));
  const seen = new Map(shown);
  const there = came.map(([, [at, came]]) => came - at).sort((a, b) => a - b);
  const drawn = came.filter(([trace]) => seen.has(trace)).map(([trace, [at]]) => seen.get(trace) - at).sort((a, b) => a - b);
  console.log(`${CALLS} calls, one after the other; ${there.length} started events came in, ${drawn.length} rows were seen`);
  told("started event to the browser, p50", ms(part(there, 0.5)), "");
  told("started event to the browser, p99", ms(part(there, 0.99)), "100 ms");
  told("started event to its row on the page, p99", ms(part(drawn, 0.99)), "100 ms");
}

async function large(page, client) {
  const opened = [];
  for (let i = 0; i < 5; i++) {
    await page.goto("about:blank");
    await page.goto(`${page.base}/traces/${TRACE}`, { waitUntil: "commit" });
    // Looked for in every frame: a locator looks again after half a second only.
    await page.waitForFunction(() => /100\D?000 spans/.test(document.querySelector(".facts")?.textContent ?? ""), undefined, { polling: "raf", timeout: 60_000 });
    // Two frames later the waterfall has been painted. Times count from the navigation.
    opened.push(await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))));
  }
  opened.sort((a, b) => a - b);
  told(`a trace of ${SPANS} spans, from the address to the picture, median`, ms(part(opened, 0.5)), "1000 ms");
  const canvas = await page.locator("canvas").last().boundingBox();
  await page.mouse.move(canvas.x + canvas.width / 2, canvas.y + canvas.height / 2);
  const metrics = async () => new Map((await client.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
  await page.evaluate(() => {
    window.frames_ = [];
    const count = (at) => {
      window.frames_.push(at);
      window.counting = requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
  });
  await client.send("Performance.enable");
  const before = await metrics();
  for (let i = 0; i < 200; i++) {
    await page.mouse.wheel(0, 400);
    await pause(10);
  }
  const after = await metrics();
  const frames = await page.evaluate(() => (cancelAnimationFrame(window.counting), window.frames_.length));
  const script = (1000 * (after.get("ScriptDuration") - before.get("ScriptDuration"))) / frames;
  told(`script a frame while scrolling, mean of ${frames} frames`, ms(script), "8 ms");
}

console.log(`${availableParallelism()} processors, load ${loadavg()[0].toFixed(1)}`);
let server;
let browser;
try {
  const file = path.join(directory, "spans.jsonl");
  writeFileSync(file, lines());
  const began = Date.now();
  const imported = spawnSync(aqueduct, ["trace", "import", file, "--config", config, "--data", data], { encoding: "utf8" });
  if (imported.status !== 0) throw new Error(imported.stderr);
  console.log(`imported ${SPANS} spans in ${Date.now() - began} ms`);
  server = spawn(aqueduct, ["serve", "--http", "127.0.0.1:0", "--mode", "single", "--config", config, "--data", data], { stdio: ["ignore", "pipe", "ignore"] });
  let welcome = "";
  server.stdout.on("data", (text) => (welcome += text));
  while (!welcome.includes("Ctrl-C")) await pause(20);
  const mcp = /MCP\s+(http:\S+)/.exec(welcome)[1];
  const base = /Operator\s+(http:\S+?)\/?\s/.exec(welcome)[1];
  const key = readFileSync(path.join(data, "operator.key"), "utf8").trim();
  browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox"] });
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  page.base = base;
  await page.goto(`${base}/#key=${key}`);
  await page.waitForTimeout(500);
  const tool = await connect(mcp, "bench");
  await live(page, () => tool({ operation: "introspect", params: { query: "operations", first: 1 } }));
  await large(page, await page.context().newCDPSession(page));
} finally {
  await browser?.close();
  server?.kill();
  rmSync(directory, { recursive: true, force: true });
}
