// Takes the pictures of the Inspector that stand in the documents, with real servers and real calls.
//
//   node tests/pages/pictures.mjs SERVERS AQUEDUCT [WHERE]
//
// SERVERS is what tests/servers/install installed, AQUEDUCT the program; the pictures go to docs/images unless WHERE says otherwise.
// Look at each before you keep it.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

import { connect } from "./client.mjs";

const [servers, aqueduct, where = path.join(import.meta.dirname, "../../docs/images")] = process.argv.slice(2);
const known = JSON.parse(readFileSync(path.join(servers, "servers.json"), "utf8")).mcpServers;
const { args } = known.playwright;
const { chromium } = createRequire(path.join(path.dirname(args[0]), "x.js"))("playwright");

const directory = mkdtempSync(path.join(tmpdir(), "aqueduct-pictures-"));
const root = path.join(directory, "notes");
const [data, config] = [path.join(directory, "data"), path.join(directory, "aqueduct.toml")];
mkdirSync(root);
mkdirSync(where, { recursive: true });
const fill = (text) => text.replaceAll("{root}", root);
const upstream = (name) => {
  const { command, args, env = {} } = known[name];
  const pairs = Object.entries(env).map(([key, value]) => `${key} = ${JSON.stringify(fill(value))}`);
  return `[upstream.${name}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args.map(fill))}\nenv = { ${pairs.join(", ")} }\n`;
};
writeFileSync(path.join(root, "trip.md"), "# Lisbon\n\n- tram 28\n- Belém\n");
writeFileSync(config, `[operator]\nhttp = "127.0.0.1:0"\ndialog = false\n${["everything", "filesystem", "memory"].map(upstream).join("")}`);

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** What somebody's agent does with three servers in a minute. */
async function traffic({ call, tool }) {
  await call("introspect", { query: "operations", search: "read a file" });
  await call("filesystem_read_text_file", { path: `${root}/trip.md` });
  await call("filesystem_read_text_file", { path: `${root}/missing.md` });
  const entities = [{ name: "Lisbon", entityType: "city", observations: ["has seven hills"] }];
  await call("memory_create_entities", { entities });
  await call("memory_search_nodes", { query: "Lisbon" });
  await call("everything_get_sum", { a: 28, b: 14 });
  await tool({
    operations: [
      { operation: "filesystem_list_directory", params: { path: root } },
      { operation: "filesystem_read_text_file", params: { path: `${root}/trip.md` } },
      { operation: "memory_search_nodes", params: { query: "Lisbon" } },
      { operation: "everything_trigger_long_running_operation", params: { duration: 1, steps: 4 } },
      { operation: "everything_echo", params: { message: "done" } },
    ],
  });
}

let server;
let browser;
try {
  server = spawn(aqueduct, ["serve", "--http", "127.0.0.1:0", "--mode", "single", "--config", config, "--data", data], { stdio: ["ignore", "pipe", "ignore"] });
  let welcome = "";
  server.stdout.on("data", (text) => (welcome += text));
  while (!welcome.includes("Ctrl-C")) await pause(50);
  const tool = await connect(/MCP\s+(http:\S+)/.exec(welcome)[1], "desktop");
  const client = { tool, call: (operation, params = {}) => tool({ operation, params }) };
  const base = /Operator\s+(http:\S+?)\/?\s/.exec(welcome)[1];
  const key = readFileSync(path.join(data, "operator.key"), "utf8").trim();
  const ask = async (place) => (await fetch(`${base}/api/v1/${place}`, { headers: { Authorization: `Bearer ${key}` } })).json();
  while ((await ask("servers")).servers.some(({ tools }) => tools === null)) await pause(200);
  browser = await chromium.launch({ executablePath: args[args.indexOf("--executable-path") + 1], args: ["--no-sandbox"] });
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 700 }, colorScheme: "light" })).newPage();
  const shot = async (name) => page.screenshot({ path: path.join(where, `inspector-${name}.png`) });

  await page.goto(`${base}/live#key=${key}`);
  await pause(1500);
  for (let round = 0; round < 3; round++) await traffic(client);
  const slow = client.call("everything_trigger_long_running_operation", { duration: 4, steps: 8 });
  await pause(2500);
  await page.setViewportSize({ width: 1280, height: 600 });
  await shot("live");
  await page.setViewportSize({ width: 1280, height: 700 });
  await slow;

  const { operations } = await ask("operations?limit=100");
  const batch = operations.filter(({ duration_us }) => duration_us > 900_000 && duration_us < 3_000_000)[0];
  await page.goto(`${base}/traces/${batch.trace_id}`);
  await page.getByText("spans").first().waitFor();
  for (let i = 0; i < 3; i++) await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("tab", { name: "Result" }).click();
  await pause(800);
  await shot("trace");

  void client.call("everything_trigger_elicitation_request").catch(() => {});
  void client.call("filesystem_write_file", { path: `${root}/trip.md`, input: { content: "# Porto" } }).catch(() => {});
  await page.goto(`${base}/waiting`);
  for (const text of ["To be approved", "Asked by servers"]) await page.getByText(text).waitFor();
  await pause(1500);
  await shot("waiting");

  await page.goto(`${base}/servers`);
  await pause(1500);
  await shot("servers");
} finally {
  await browser?.close();
  server?.kill();
  rmSync(directory, { recursive: true, force: true });
}
