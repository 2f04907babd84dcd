/** What the attributes of a span say of its arguments, its result, and of what was cut. */

import type { Attributes } from "../api/types.ts";

const ARGUMENTS = ["mcp.tool.input_json", "gen_ai.tool.call.arguments", "mcp.prompt.parameters_json", "mcp.llm.prompt_json", "gen_ai.input.messages"];
const RESULTS = ["mcp.tool.output_json", "mcp.tool.structured_output_json", "gen_ai.tool.call.result", "mcp.llm.response_json", "gen_ai.output.messages"];
const MARKS = ["_truncated", "_bytes", "_sha256"];

export function argumentsOf(attributes: Attributes): string[] {
  return ARGUMENTS.filter((name) => attributes[name] !== undefined);
}

export function resultsOf(attributes: Attributes): string[] {
  return RESULTS.filter((name) => attributes[name] !== undefined);
}

export interface Cut {
  size: number | null;
  hash: string | null;
}

/** Whether a value was cut, and what is known of the whole. */
export function cutOf(attributes: Attributes, name: string): Cut | null {
  const mark = attributes[`${name}_truncated`];
  if (mark !== true && mark !== "true") return null;
  const size = attributes[`${name}_bytes`];
  const hash = attributes[`${name}_sha256`];
  return { size: typeof size === "number" ? size : null, hash: typeof hash === "string" ? hash : null };
}

/** Whether an attribute only says something about another one that is there. */
export function isMark(attributes: Attributes, name: string): boolean {
  return MARKS.some((mark) => name.endsWith(mark) && attributes[name.slice(0, -mark.length)] !== undefined);
}

export interface Resource {
  uri: string;
  type: string | null;
  size: number | null;
}

/** The resource that a span read. A tool's call may name one too, but has a result of its own. */
export function resourceOf(attributes: Attributes): Resource | null {
  const uri = attributes["mcp.resource.uri"];
  if (typeof uri !== "string" || attributes["mcp.tool.name"] !== undefined) return null;
  const type = attributes["mcp.resource.mime_type"];
  const size = attributes["mcp.resource.bytes"];
  return { uri, type: typeof type === "string" ? type : null, size: typeof size === "number" ? size : null };
}

/** The server that a request was for, where its span says so. */
export function serverOf(attributes: Attributes): string | null {
  const server = attributes["mcp.peer.server_id"];
  return typeof server === "string" ? server : null;
}
