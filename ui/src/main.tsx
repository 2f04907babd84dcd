import { render } from "preact";
import { takeKeyFromAddress } from "./api/client.ts";
import { App } from "./app.tsx";
import { startKeys } from "./lib/keys.ts";
import { go, startRouter } from "./lib/router.ts";
import { startTheme } from "./lib/theme.ts";
import "./style/base.css";
import "./style/parts.css";

takeKeyFromAddress();
// A key that is pasted into the address of a page that is open loads nothing again.
addEventListener("hashchange", takeKeyFromAddress);
startTheme();
startRouter();
startKeys();
// In the place of '/', so that the way back does not end there.
if (location.pathname === "/") {
  history.replaceState(null, "", "/live");
  go("/live");
}
const root = document.querySelector("#app");
if (root) render(<App />, root);
