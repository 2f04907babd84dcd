/** A form of a server as a person fills it in: what stands in its fields, and what is sent of it. */

import type { FormField } from "../api/types.ts";

/** What stands in a field: a text as it was typed, a tick, or the ticked choices. */
export type Filled = string | boolean | string[];

export function startOf(field: FormField): Filled {
  const { type, default: given } = field;
  if (type === "boolean") return given === true;
  if (type === "choices") return Array.isArray(given) ? given.filter((value): value is string => typeof value === "string") : [];
  return typeof given === "string" || typeof given === "number" ? String(given) : "";
}

/** What is sent, or what is missing. The server of the page checks everything else, and says what is wrong. */
export function contentOf(fields: FormField[], filled: Record<string, Filled>): { content: Record<string, unknown>; missing: string[] } {
  // Names are a server's: one like '__proto__' is a field as any other.
  const content: [string, unknown][] = [];
  const missing: string[] = [];
  for (const field of fields) {
    const value = Object.hasOwn(filled, field.name) ? filled[field.name] : undefined;
    if (field.type === "boolean") content.push([field.name, value === true]);
    else if (field.type === "choices") {
      const chosen = Array.isArray(value) ? value : [];
      if (chosen.length > 0 || field.required) content.push([field.name, chosen]);
    } else if (typeof value !== "string" || value === "") {
      if (field.required) missing.push(field.title ?? field.name);
    } else content.push([field.name, field.type === "number" ? numberOf(value) : value]);
  }
  return { content: Object.fromEntries(content), missing };
}

/** What is no number is sent as it was typed, and refused. */
function numberOf(text: string): number | string {
  const number = Number(text);
  return text.trim() === "" || !Number.isFinite(number) ? text : number;
}
