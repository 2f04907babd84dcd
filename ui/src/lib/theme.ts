import { signalOf } from "./signal.ts";

export type Choice = "system" | "dark" | "light";

const STORED = "aqueduct.theme";
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

/** What was chosen, and what that comes to. */
export const theme = signalOf<{ choice: Choice; shown: "dark" | "light" }>(resolve(read()));

function read(): Choice {
  try {
    const stored = localStorage.getItem(STORED);
    return stored === "dark" || stored === "light" ? stored : "system";
  } catch {
    return "system";
  }
}

function resolve(choice: Choice): { choice: Choice; shown: "dark" | "light" } {
  return { choice, shown: choice === "system" ? (prefersDark.matches ? "dark" : "light") : choice };
}

export function chooseTheme(choice: Choice): void {
  try {
    localStorage.setItem(STORED, choice);
  } catch {
    // It holds until the page is loaded again.
  }
  apply(choice);
}

function apply(choice: Choice): void {
  const next = resolve(choice);
  document.documentElement.dataset["theme"] = next.shown;
  theme.set(next);
}

export function startTheme(): void {
  apply(read());
  prefersDark.addEventListener("change", () => apply(theme.get().choice));
}
