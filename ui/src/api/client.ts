/** Requests to the gateway. The key is kept for this tab only and goes nowhere but into the Authorization header. */

import { signalOf } from "../lib/signal.ts";
import type { Health } from "./types.ts";

const STORED = "aqueduct.key";

/** Why a request was not answered as hoped. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** `isTried` says that the gateway has taken the key already. */
export const access = signalOf<{ key: string | null; isTried: boolean; asks: boolean; why: string | null }>({
  key: read(),
  isTried: false,
  asks: false,
  why: null,
});

export const health = signalOf<Health | null>(null);

/** Takes a key out of the address, so that it stands neither in the history nor over anybody's shoulder. */
export function takeKeyFromAddress(): void {
  const found = /^#key=(.+)$/.exec(location.hash);
  if (!found?.[1]) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  let key = found[1];
  try {
    key = decodeURIComponent(key);
  } catch {
    // It is taken as it stands.
  }
  useKey(key);
}

export function useKey(key: string, isTried = false): void {
  try {
    sessionStorage.setItem(STORED, key);
  } catch {
    // Without storage it lasts until the page is loaded again.
  }
  access.set({ key, isTried, asks: false, why: null });
}

export function forgetKey(why: string | null = null): void {
  try {
    sessionStorage.removeItem(STORED);
  } catch {
    // Nothing was stored then.
  }
  health.set(null);
  access.set({ key: null, isTried: false, asks: true, why });
}

function read(): string | null {
  try {
    return sessionStorage.getItem(STORED);
  } catch {
    return null;
  }
}

export type Query = Record<string, string | number | null | undefined>;

export function address(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
  return `/api/v1/${path}${text ? `?${text}` : ""}`;
}

export function headers(): Record<string, string> {
  const { key } = access.get();
  return key ? { Authorization: `Bearer ${key}` } : {};
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return ask<T>(address(path, query), { headers: headers(), ...(signal ? { signal } : {}) });
}

export async function post<T>(path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method: "POST", headers: headers() };
  if (body !== undefined) {
    init.headers = { ...headers(), "Content-Type": "application/json" };
    init.body = JSON.stringify(body);
  }
  return ask<T>(address(path), init);
}

async function ask<T>(url: string, init: RequestInit): Promise<T> {
  const { key } = access.get();
  let response: Response;
  try {
    response = await fetch(url, { ...init, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "UNREACHABLE", "The gateway does not answer. Is it still running?");
  }
  if (!response.ok) throw await problemOf(response, key);
  return (await response.json()) as T;
}

/** Reads what a refusal says, and asks for the key again where that is what is missing: unless there is another one by now. */
export async function problemOf(response: Response, key: string | null): Promise<Problem> {
  let code = String(response.status);
  let message = response.statusText || `The gateway answered ${response.status}.`;
  try {
    const body = (await response.json()) as { error?: { code?: string; message?: string } };
    code = body.error?.code ?? code;
    message = body.error?.message ?? message;
  } catch {
    // Not ours to explain, then.
  }
  if (response.status === 401 && access.get().key === key) {
    forgetKey(key === null ? null : "That key was not accepted. Look for the right one and try again.");
  }
  return new Problem(response.status, code, message);
}

export function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
