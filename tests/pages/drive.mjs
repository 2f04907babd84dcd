// Drives the Inspector's pages in a real browser, against a gateway that the caller has started and filled.
//
//   node tests/pages/drive.mjs MODULES CHROMIUM ADDRESS KEY SCENE [SHOTS]
//
// MODULES is a directory from which 'playwright' can be loaded. A scene prints a line of JSON for what the caller has to know, and
// fails with words if a page is not as it should be. With SHOTS, pictures are left there.
import { createRequire } from "node:module";
import path from "node:path";

const [modules, chromiumPath, address, key, scene, shots] = process.argv.slice(2);
const { chromium } = createRequire(path.join(modules, "x.js"))("playwright");
const browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
const troubles = [];
page.on("pageerror", (error) => troubles.push(`page: ${error.message}`));
page.on("console", (message) => message.type() === "error" && troubles.push(`console: ${message.text()}`));

const open = (place) => page.goto(`http://${address}${place}`);
const sees = (text) =>
  page.getByText(text, { exact: false }).filter({ visible: true }).first().waitFor({ timeout: 20_000 });
const shot = async (name) => {
  if (shots) await page.screenshot({ path: path.join(shots, `${name}.png`) });
};
const wide = async () => {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (over > 0) throw new Error(`${page.url()} is ${over} pixels too wide`);
};

/** Another card stands above, and goes away under the mouse: what comes to its place takes no click at once. */
async function slides() {
  let isThere = true;
  const pending = /approvals\?state=pending/;
  await page.route(pending, async (route) => {
    const response = await route.fetch();
    const { approvals } = await response.json();
    const others = isThere ? approvals.map((one) => ({ ...one, id: "appr_other", asked_at: "2020-01-01T00:00:00Z" })) : [];
    await route.fulfill({ response, json: { approvals: [...others, ...approvals] } });
  });
  await sees("appr_other");
  const buttons = page.getByRole("button", { name: /^approve/i });
  await buttons.nth(1).waitFor();
  await page.waitForTimeout(1000);
  const { x, y, width, height } = await buttons.first().boundingBox();
  await page.mouse.move(x + width / 2, y + height / 2);
  isThere = false;
  await page.waitForFunction(() => !document.body.innerText.includes("appr_other"), undefined, { polling: 10, timeout: 20_000 });
  await page.mouse.click(x + width / 2, y + height / 2);
  await page.waitForTimeout(1500);
  if ((await buttons.count()) !== 1) throw new Error("a click that was meant for another card was taken");
  await page.unroute(pending);
}

const scenes = {
  /** Every page, wide and narrow, light and dark, with what the traffic has left there. */
  async pages() {
    await open(`/sessions#key=${key}`);
    await sees("near_echo");
    if (page.url().includes(key)) throw new Error("the key stays in the address");
    const places = {
      "/sessions": "near_echo", "/operations": "near_echo", "/servers": "near", "/servers/near": "p95", "/graph": "near",
      "/settings": "recorded", "/audit": "Nothing was decided yet", "/waiting": "Nobody waits", "/live": "near_echo", "/search?q=near_echo": "near_echo",
      "/search": "Search in every span", "/audit?q=nothing&entry=1": "Nothing was decided yet", "/graph?node=nobody": "near",
    };
    for (const [width, scheme] of [[1280, "light"], [400, "dark"]]) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: scheme });
      for (const [place, text] of Object.entries(places)) {
        await open(place);
        await sees(text);
        await wide();
        await shot(`${place.replace(/\W+/g, "-")}-${width}`);
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: "light" });
    // One step of the plot is enough for it, and who is chosen in the graph stands in the address.
    await open("/servers/near");
    await page.locator(".plot .p50").first().waitFor({ state: "attached" });
    await open("/graph");
    await page.getByRole("button", { name: "server near" }).click();
    await page.reload();
    await page.locator(".node.chosen").waitFor();
    // Who comes back to a list stands where they were.
    await page.setViewportSize({ width: 1280, height: 300 });
    await open("/operations");
    const row = page.locator("tbody a[data-row]").nth(4);
    await row.waitFor();
    await page.evaluate(() => scrollTo(0, 60));
    const href = await row.getAttribute("href");
    await row.click();
    await page.locator(".waterfall").waitFor();
    await page.goBack();
    await page.waitForFunction((there) => scrollY > 0 && document.activeElement?.getAttribute("href") === there, href, { timeout: 20_000 });
    await page.setViewportSize({ width: 1280, height: 800 });
  },

  /** A trace by its own address: the tree, the details of a span by keys alone, a cut value, a resource. */
  async trace() {
    await open(`/#key=${key}`);
    await page.waitForTimeout(300);
    for (const [id, text] of JSON.parse(process.env.TRACES ?? "[]")) {
      await open(`/traces/${id}`);
      await sees("spans");
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await sees(text);
      await wide();
      // A link to another span of the same trace opens that one, and the tab stays in the address.
      const spanOf = () => new URL(page.url()).searchParams.get("span");
      const [first, details] = [spanOf(), page.getByRole("complementary", { name: "Details of the span" })];
      await page.keyboard.press("j");
      await page.waitForFunction((old) => !location.search.includes(old), first);
      await details.getByText(spanOf()).waitFor();
      await page.evaluate((there) => {
        const link = Object.assign(document.createElement("a"), { href: there });
        document.querySelector("main").append(link);
        link.click();
        link.remove();
      }, `/traces/${id}?span=${first}`);
      await details.getByText(first).waitFor();
      await page.getByRole("tab", { name: "Events" }).click();
      await page.reload();
      await page.getByRole("tab", { name: "Events", selected: true }).waitFor();
      await page.getByRole("tab", { name: "Attributes" }).click();
    }
    await shot("trace");
  },

  /** What happens is seen as it happens. */
  async live() {
    await open(`/live#key=${key}`);
    // What was there before the page was opened, and nothing else.
    await sees("near_echo");
    if (await page.getByText("near_sleep").count()) throw new Error("what is to happen is there already");
    console.log(JSON.stringify({ ready: true }));
    const row = page.getByRole("row").filter({ hasText: "near_sleep" });
    await row.filter({ hasText: "running" }).first().waitFor({ timeout: 20_000 });
    await shot("live");
    // Who pauses sees nothing new until they go on, and how much that is.
    await page.getByRole("button", { name: "Pause" }).click();
    console.log(JSON.stringify({ paused: true }));
    await page.getByRole("button", { name: /^Continue \(/ }).waitFor({ timeout: 20_000 });
    if (await row.filter({ hasText: "cancelled" }).count()) throw new Error("a row changes while the view is paused");
    await page.getByRole("button", { name: /^Continue/ }).click();
    await row.filter({ hasText: "cancelled" }).first().waitFor({ timeout: 20_000 });
  },

  /** An operation and a session are ended where they are seen, and a page of a server leads to the calls of it. */
  async cancel() {
    page.on("dialog", (dialog) => void dialog.accept());
    await open(`/operations?status=running#key=${key}`);
    const rows = page.getByRole("row").filter({ hasText: "near_sleep" });
    await rows.nth(1).waitFor({ timeout: 20_000 });
    // The request can be ended, the call of the server within it only with it.
    await rows.first().getByRole("link").first().click();
    const cancel = page.getByRole("complementary").getByRole("button", { name: "Cancel" });
    await cancel.waitFor();
    await page.keyboard.press("j");
    await sees("to near");
    if (await cancel.count()) throw new Error("a call of a server can be cancelled");
    await page.goBack();
    await rows.first().getByRole("button", { name: "Cancel" }).click();
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1, undefined, { timeout: 20_000 });
    await open(`/sessions/${process.env.SESSION}`);
    await page.getByRole("button", { name: "Cancel the session" }).click();
    await sees("1 cancelled");
    await open("/operations?status=cancelled");
    await rows.nth(1).waitFor({ timeout: 20_000 });
    await open("/servers/near");
    await page.getByRole("link", { name: "echo", exact: true }).click();
    await sees("near_echo");
    await wide();
  },

  /** What was decided is in the log, which can be verified, and leads to the calls of who asked. */
  async audit() {
    await open(`/audit#key=${key}`);
    const row = page.getByRole("row").filter({ hasText: "delete_entity" });
    await row.first().waitFor({ timeout: 20_000 });
    await page.getByRole("button", { name: /verify/i }).click();
    await sees("whole, ");
    await row.first().getByRole("button").click();
    await shot("audit");
    await page.getByRole("link", { name: "calls of its client" }).first().click();
    await sees("tools/call delete_entity");
  },

  /** A person says no on the page. */
  async deny() {
    await open(`/waiting#key=${key}`);
    await sees("delete_entity");
    await page.waitForTimeout(1000);
    await page.getByRole("button", { name: "Deny" }).first().click();
    await sees("Nobody waits");
  },

  /** Without a server of its own the page shows what others recorded, and that it records nothing. */
  async alone() {
    await open(`/sessions#key=${key}`);
    await sees("near_echo");
    await open("/settings");
    await sees("This process records nothing itself");
    await wide();
    await shot("alone");
  },

  /** A person answers on the page. */
  async approve() {
    await open(`/waiting#key=${key}`);
    await sees("delete_entity");
    await page.waitForTimeout(1000);
    await shot("waiting");
    if (!(await page.title()).startsWith("(1) ")) throw new Error("the title does not say that somebody waits");
    await slides();
    await page.getByRole("button", { name: /^approve/i }).first().click();
    await sees("Nobody waits");
  },

  /** Who may only look sees that something waits. A person fills in the form of a server: first wrongly, then rightly. */
  async input() {
    await open(`/waiting#key=${process.env.VIEWER}`);
    await sees("The server near asks");
    if (await page.getByText("Where shall it go?").count()) throw new Error("a viewer sees the question");
    if (await page.getByRole("button", { name: /Send|Decline|Cancel/ }).count()) throw new Error("a viewer may answer");
    await page.goto("about:blank");
    await open(`/waiting#key=${key}`);
    await sees("Where shall it go?");
    const card = page.getByRole("article", { name: "Question of near" });
    await card.getByText("The server near asks").waitFor();
    await page.waitForTimeout(1000);
    await card.getByRole("button", { name: "Send" }).click();
    await sees("Still to be filled in: Street");
    await card.getByLabel("Street").fill("Low Street 7 \u202e");
    await card.getByLabel("Boxes").fill("99");
    await card.getByLabel("Size").selectOption({ label: "Large" });
    await card.getByLabel("Tuesday").check();
    await card.getByLabel("Express").uncheck();
    await wide();
    await shot("input");
    await card.getByRole("button", { name: "Send" }).click();
    await sees("'boxes' must be 9 or less");
    if ((await card.getByLabel("Street").inputValue()) !== "Low Street 7 \u202e") throw new Error("what was typed is lost");
    await card.getByLabel("Boxes").fill("3");
    await page.setViewportSize({ width: 400, height: 800 });
    await wide();
    await card.getByRole("button", { name: "Send" }).click();
    await sees("Nobody waits");
    // The refusal above is one that the browser notes too.
    if (troubles.length !== 1 || !troubles[0].includes("400")) throw new Error(`not one refusal: ${troubles}`);
    troubles.length = 0;
  },

  /** A resource that was read: its address, nothing of what it says, and what it says now once that is asked for. */
  async resource() {
    await open(`/#key=${key}`);
    await page.waitForTimeout(300);
    const [id] = JSON.parse(process.env.TRACES);
    await open(`/traces/${id}`);
    await sees("spans");
    for (const presses of [1, 2]) {
      for (let i = 0; i < presses; i++) await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await page.getByRole("tab", { name: "Result" }).click();
      await sees("What resources contain is never recorded");
      if (await page.getByText("as it is", { exact: false }).count()) throw new Error("content is shown before it is asked for");
      await sees("note://one");
      await page.getByRole("button", { name: "Read it again now" }).click();
      await sees("as it is <b>now</b>");
      await sees("text/plain");
      await wide();
      await shot(`resource-${presses}`);
      await page.getByRole("button", { name: "Close the details" }).click();
    }
    await open("/servers");
    await sees("failed");
    await open("/servers/broken");
    await sees("It failed last");
  },

  /** An address is text, and nothing opens it. */
  async address() {
    await open(`/waiting#key=${key}`);
    await sees("javascript:alert(1)");
    const card = page.getByRole("article", { name: "Question of near" });
    if (await card.getByRole("button", { name: "Send" }).count()) throw new Error("an address can be accepted");
    if (await card.locator("a[href^=javascript], iframe").count()) throw new Error("an address can be opened");
    await page.waitForTimeout(1000);
    const calls = await card.getByRole("link", { name: "calls of its client" }).getAttribute("href");
    await card.getByRole("button", { name: "Decline" }).click();
    await sees("Nobody waits");
    await open(calls);
    await sees("near_ask");
  },

  /** Without the right key nothing is shown. */
  async locked() {
    await open("/sessions");
    await page.locator("input[type=password], input").first().waitFor({ state: "visible" });
    if (await page.getByText("near_echo").count()) throw new Error("data is shown without a key");
    // A key that is not taken is shown once: more would lock its owner out.
    let refused = 0;
    page.on("response", (response) => (refused += response.status() === 401 ? 1 : 0));
    await page.evaluate(() => (location.hash = "key=stale"));
    await sees("That key was not accepted");
    await page.waitForTimeout(500);
    if (refused !== 1 || page.url().includes("stale")) throw new Error(`a wrong key is shown ${refused} times: ${page.url()}`);
    // The right one is taken from the address of a page that is open, too.
    await page.evaluate((right) => (location.hash = `key=${right}`), key);
    await sees("near_echo");
    if (page.url().includes(key)) throw new Error("the key stays in the address");
    // Where nobody answers, nobody says that nobody waits.
    await open("/waiting");
    await sees("Nobody waits");
    await page.route("**/*", (route) => route.abort());
    await sees("The gateway does not answer");
    if (await page.getByText("Nobody waits").count()) throw new Error("nobody is said to wait");
    await page.getByRole("link", { name: "Settings" }).click();
    await sees("The gateway is not reachable");
    await page.unroute("**/*");
    await page.getByRole("button", { name: "Try again" }).click();
    await sees("Settings and health");
    troubles.length = 0;
  },
};

try {
  await scenes[scene]();
  if (troubles.length) throw new Error(troubles.join("\n"));
  console.log(JSON.stringify({ done: scene }));
} catch (error) {
  console.error(`${scene}: ${error.message}\n${troubles.join("\n")}\n${(await page.locator("body").innerText()).slice(0, 2000)}`);
  process.exitCode = 1;
} finally {
  await browser.close();
}
