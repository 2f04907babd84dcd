// Calls that take their time: progress, cancellation, many at once, faults, many clients, and the end.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Aqueduct, Fixture } from './servers.mjs';
import { connect, overHttp, overStdio } from './talk.mjs';

const WAIT = { milliseconds: 2500 };

export function running(kind, transport) {
    test('LREQ-MCP-13 LREQ-MCP-14: progress increases, and comes only when asked for', async (t) => {
        const [asking, silent] = await Promise.all([
            connect(t, kind, transport, new Fixture(t)),
            connect(t, kind, transport, new Fixture(t)),
        ]);
        const told = [];
        await Promise.all([
            asking.data('mcp_aql_execute', 'execute_wait', WAIT, { onprogress: (progress) => told.push(progress) }),
            silent.data('mcp_aql_execute', 'execute_wait', WAIT),
        ]);
        assert.ok(told.length >= 2, JSON.stringify(told));
        const reached = told.map(({ progress }) => progress);
        assert.ok(reached.every((place, index) => index === 0 || place > reached[index - 1]), reached.join());
        assert.ok(told.every(({ progress, total }) => progress <= total), JSON.stringify(told));
        // The SDK reports progress that nobody asked for as an error.
        assert.deepEqual(silent.errors, []);
        assert.deepEqual(asking.errors, []);
    });

    test('REQ-MCP-02: a call given up does not come to its end, and the server goes on', async (t) => {
        const talk = await connect(t, kind, transport, new Fixture(t));
        // The fixture counts the waits that were not cut short.
        await talk.data('mcp_aql_execute', 'execute_wait', { milliseconds: 0 });
        assert.deepEqual(await talk.data('mcp_aql_read', 'count_finished'), { finished: 1 });
        for (const options of [{}, { onprogress: () => {} }]) {
            const abort = new AbortController();
            const wait = { milliseconds: 1200 };
            const given = talk.data('mcp_aql_execute', 'execute_wait', wait, { ...options, signal: abort.signal });
            const rejected = assert.rejects(given);
            await sleep(300);
            abort.abort('given up');
            await rejected;
            const echo = await talk.data('mcp_aql_read', 'get_echo', { message: 'still here' });
            assert.equal(echo.message, 'still here');
        }
        await sleep(1300);
        assert.deepEqual(await talk.data('mcp_aql_read', 'count_finished'), { finished: 1 });
    });

    test('REQ-CONC-03: twenty calls run side by side, and each gets its own answer', async (t) => {
        const talk = await connect(t, kind, transport, new Fixture(t));
        const waits = Array.from({ length: 20 }, (_, index) => 500 - 10 * index);
        const order = [];
        await talk.client.listTools();
        const began = performance.now();
        await Promise.all(
            waits.map(async (milliseconds) => {
                const answer = await talk.data('mcp_aql_read', 'get_wait', { milliseconds });
                assert.deepEqual(answer, { waited: milliseconds });
                order.push(milliseconds);
            }),
        );
        assert.ok(performance.now() - began < 4000, 'twenty waits of 0.3 s and more took as long as one by one');
        assert.equal(order.length, 20);
        assert.notDeepEqual(order, waits, 'answered in the order asked');
    });

    test('LREQ-MCP-10 LREQ-MCP-11: a fault inside is contained and tells no internals', async (t) => {
        const talk = await connect(t, kind, transport, new Fixture(t));
        for (const operation of ['get_panic', 'get_fault']) {
            const error = await talk.error('mcp_aql_read', operation);
            assert.equal(error.code, 'INTERNAL_ERROR');
            assert.doesNotMatch(JSON.stringify(error), /secret internals|\.rs\b/);
        }
        assert.equal((await talk.data('mcp_aql_read', 'get_echo', { message: 'on' })).message, 'on');
    });

    if (transport === 'http') manyClients(kind);
    else closing(kind);
}

// Stateless clients of one principal share a session, since nothing but the principal tells them apart.
function manyClients(kind) {
    test('REQ-SESS-04: every connection is a session, where the protocol has connections', async (t) => {
        const url = await new Aqueduct(t).http();
        const talks = await Promise.all([1, 2, 3].map(() => overHttp(t, kind, url)));
        const ids = await Promise.all(talks.map((talk) => talk.sessionId()));
        assert.deepEqual(await Promise.all(talks.map((talk) => talk.sessionId())), ids);
        assert.equal(new Set(ids).size, kind.version === '2026-07-28' ? 1 : 3);
        const request = { entity_name: 'Shared', entity_type: 'item', description: 'seen by all' };
        const made = await talks[0].data('mcp_aql_create', 'create_entity', request);
        for (const talk of talks) {
            assert.deepEqual(await talk.data('mcp_aql_read', 'get_entity', { entity_name: 'Shared' }), made);
        }
    });
}

function closing(kind) {
    // A shell around the server notes its exit status; were the server killed for being slow, so would the shell be.
    test('REQ-SESS-02 REQ-MCP-02: the server ends by itself, and soon, when its client closes', async (t) => {
        const server = new Fixture(t);
        const status = join(server.home, 'status');
        const command = ['/bin/sh', '-c', `"$0"; echo $? > '${status}'`, ...server.stdio()];
        const talk = await overStdio(t, kind, command, server.home);
        await talk.data('mcp_aql_read', 'get_echo', { message: 'hello' });
        const began = performance.now();
        await talk.close();
        assert.ok(performance.now() - began < 2000);
        assert.equal(readFileSync(status, 'utf8').trim(), '0');
    });
}
