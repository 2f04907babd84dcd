// A connected SDK client, and the few things every test does with one.

import assert from 'node:assert/strict';
import { closeSync } from 'node:fs';
import * as schemas from './schemas.mjs';
import { environment, finallyDo, openLog } from './servers.mjs';

const CALL_MS_MAX = 10_000;

// One client's conversation. Every answer in it is held against the published schemas.
export class Talk {
    constructor(kind, client, transport) {
        Object.assign(this, { kind, client, transport, errors: [], closed: false });
        client.onerror = (error) => this.errors.push(error);
    }

    send(tool, request, options = {}) {
        const params = { name: tool, arguments: request };
        return this.kind.call(this.client, params, { timeout: CALL_MS_MAX, ...options });
    }

    // The MCP-AQL answer in a tool result, which is all of the result's content.
    async answer(tool, request, options) {
        const result = await this.send(tool, request, options);
        assert.deepEqual(result.content.map((block) => block.type), ['text']);
        const answer = JSON.parse(result.content[0].text);
        schemas.check(request, answer);
        if (result.structuredContent !== undefined) assert.deepEqual(result.structuredContent, answer);
        // Only a fault of the server's own is an error to MCP; a caller can do something about all others.
        const code = answer.error?.code ?? '';
        assert.equal(Boolean(result.isError), code.startsWith('INTERNAL_') || code === 'INTROSPECTION_ERROR', code);
        return answer;
    }

    async data(tool, operation, params = {}, options) {
        const answer = await this.answer(tool, { operation, params }, options);
        assert.ok(answer.success, JSON.stringify(answer));
        return answer.data;
    }

    async error(tool, operation, params = {}) {
        const answer = await this.answer(tool, { operation, params });
        assert.ok(!answer.success, JSON.stringify(answer));
        return answer.error;
    }

    async sessionId() {
        return (await this.data('mcp_aql_read', 'introspect', { query: 'operations' }))._protocol.session_id;
    }

    async close() {
        if (this.closed) return;
        this.closed = true;
        await this.transport.terminateSession?.();
        await this.client.close();
    }
}

async function open(t, kind, transport) {
    const client = kind.client();
    const talk = new Talk(kind, client, transport);
    finallyDo(t, () => talk.close());
    await client.connect(transport);
    return talk;
}

export function overStdio(t, kind, command, place) {
    const stderr = openLog(place);
    finallyDo(t, () => closeSync(stderr));
    const [program, ...args] = command;
    return open(t, kind, kind.stdio({ command: program, args, env: environment(place), cwd: place, stderr }));
}

export function overHttp(t, kind, url) {
    return open(t, kind, kind.http(new URL(url)));
}

// A server of its own for one client, over either transport.
export async function connect(t, kind, transport, server) {
    if (transport === 'stdio') return overStdio(t, kind, server.stdio(), server.home);
    return overHttp(t, kind, await server.http());
}
