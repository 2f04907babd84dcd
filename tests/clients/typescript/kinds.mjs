// The SDKs as they differ: which package, which protocol version, and how a call is made.

import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const WHO = { name: 'aqueduct-client-tests', version: '1.0.0' };

// The 1.x package, which most clients in use were built with.
export const sdk1 = {
    name: 'sdk 1.x',
    version: '2025-11-25',
    client: () => new OldClient(WHO),
    stdio: (options) => new OldStdio(options),
    http: (url) => new OldHttp(url),
    call: (client, params, options) => client.callTool(params, undefined, options),
    // This package does not tell the version to its client, only to its transport, and only over HTTP.
    spoken: (_client, transport) => transport.protocolVersion,
};

function second(version, options) {
    return {
        name: `client 2.x`,
        version,
        client: () => new Client(WHO, options),
        stdio: (options) => new StdioClientTransport(options),
        http: (url) => new StreamableHTTPClientTransport(url),
        call: (client, params, options) => client.callTool(params, options),
        spoken: (client) => client.getNegotiatedProtocolVersion(),
    };
}

export const oldest = second('2025-06-18', { supportedProtocolVersions: ['2025-06-18'] });
export const legacy = second('2025-11-25', { versionNegotiation: { mode: 'legacy' } });
// Asks `server/discover` first, and would fall back to the handshake.
export const modern = second('2026-07-28', { versionNegotiation: { mode: 'auto' } });
// Would not fall back.
export const pinned = second('2026-07-28', { versionNegotiation: { mode: { pin: '2026-07-28' } } });
