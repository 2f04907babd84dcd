// Connecting, what the server says of itself, and the tools it offers in each mode.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Aqueduct } from './servers.mjs';
import { connect } from './talk.mjs';

const CRUDE = {
    mcp_aql_create: [false, false],
    mcp_aql_read: [true, false],
    mcp_aql_update: [false, true],
    mcp_aql_delete: [false, true],
    mcp_aql_execute: [false, true],
};
const DISCOVER = {
    mcp_aql_discover: [true, false],
    mcp_aql_query: [true, false],
    mcp_aql_manage: [false, true],
    mcp_aql_operate: [false, true],
};

function annotations(tools) {
    const entries = tools.map(({ name, annotations: hints }) => [name, [hints.readOnlyHint, hints.destructiveHint]]);
    return Object.fromEntries(entries);
}

export function surface(kind, transport) {
    test('REQ-MCP-01 REQ-MCP-02: the asked version is spoken, and the server names itself', async (t) => {
        const talk = await connect(t, kind, transport, new Aqueduct(t));
        const { name, version } = talk.client.getServerVersion();
        assert.equal(name, 'aqueduct');
        assert.ok(version);
        assert.ok(talk.client.getServerCapabilities().tools);
        assert.match(talk.client.getInstructions(), /introspect/);
        const spoken = kind.spoken(talk.client, talk.transport);
        if (spoken !== undefined || transport === 'http') assert.equal(spoken, kind.version);
        if (kind.version !== '2026-07-28') await talk.client.ping();
        assert.deepEqual(talk.errors, []);
    });

    test('LREQ-MCP-01 LREQ-MCP-05 LREQ-MCP-06: five tools, annotated, that teach introspect', async (t) => {
        const talk = await connect(t, kind, transport, new Aqueduct(t));
        const { tools, nextCursor } = await talk.client.listTools();
        assert.deepEqual(annotations(tools), CRUDE);
        assert.equal(nextCursor, undefined);
        for (const tool of tools) {
            assert.ok(tool.description.includes('operation: "introspect"'), tool.description);
            assert.equal(tool.inputSchema.type, 'object');
            assert.equal(tool.inputSchema.properties.operation.type, 'string');
        }
    });

    test('REQ-MODE-04 LREQ-MCP-01 LREQ-MCP-05 LREQ-MCP-06: one tool in single mode does it all', async (t) => {
        const talk = await connect(t, kind, transport, new Aqueduct(t, '--mode', 'single'));
        const { tools } = await talk.client.listTools();
        assert.deepEqual(annotations(tools), { mcp_aql: [false, true] });
        assert.ok(tools[0].description.includes('operation: "introspect"'));
        const listed = await talk.data('mcp_aql', 'introspect', { query: 'operations' });
        assert.equal(listed._protocol.mode, 'single');
        const asked = { query: 'operations', name: 'create_entity' };
        const { operation } = await talk.data('mcp_aql', 'introspect', asked);
        assert.equal(operation.mcpTool, 'mcp_aql');
        const made = await talk.answer('mcp_aql', operation.examples[0].request);
        const which = { entity_id: made.data.entity_id };
        assert.deepEqual(await talk.data('mcp_aql', 'get_entity', which), made.data);
    });

    test('REQ-MODE-05 REQ-MCP-03 LREQ-MCP-01 LREQ-MCP-06: the discover profile names its tools', async (t) => {
        const talk = await connect(t, kind, transport, new Aqueduct(t, '--profile', 'discover'));
        const { tools } = await talk.client.listTools();
        assert.deepEqual(annotations(tools), DISCOVER);
        for (const tool of tools) assert.ok(tool.description.includes('operation: "introspect"'), tool.description);
        const listed = await talk.data('mcp_aql_discover', 'introspect', { query: 'operations' });
        assert.equal(listed._protocol.profile, 'discover');
        for (const { name, endpoint } of listed.operations) {
            const detail = await talk.data('mcp_aql_discover', 'introspect', { query: 'operations', name });
            assert.equal(detail.operation.mcpTool, `mcp_aql_${endpoint}`);
            assert.ok(detail.operation.mcpTool in DISCOVER);
        }
        const request = { entity_name: 'Profiled', entity_type: 'item', description: 'made by manage' };
        const made = await talk.data('mcp_aql_manage', 'create_entity', request);
        const which = { entity_id: made.entity_id };
        assert.deepEqual(await talk.data('mcp_aql_query', 'get_entity', which), made);
    });

    test('LREQ-MCP-11 LREQ-MCP-12: an unknown tool is a fault, an unknown operation an answer', async (t) => {
        const talk = await connect(t, kind, transport, new Aqueduct(t));
        await assert.rejects(talk.send('mcp_aql_nothing', { operation: 'introspect' }), { code: -32602 });
        assert.equal((await talk.error('mcp_aql_read', 'get_nothing')).code, 'NOT_FOUND_OPERATION');
    });
}
