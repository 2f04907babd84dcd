// A client of a gateway with one tool, over HTTP, for scripts that make real calls.

/** Opens a session under that name; what comes back calls the tool. */
export async function connect(url, name) {
  const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  let next = 0;
  const request = async (method, params, isNotice) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...(isNotice ? {} : { id: next++ }), method, params });
    const response = await fetch(url, { method: "POST", headers, body });
    headers["Mcp-Session-Id"] ??= response.headers.get("mcp-session-id");
    return response.text();
  };
  await request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name, version: "1" } });
  await request("notifications/initialized", {}, true);
  return (args) => request("tools/call", { name: "mcp_aql", arguments: args });
}
