// What an agent does with the workspace: find out, make, read, change, remove, and recover from mistakes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Aqueduct } from './servers.mjs';
import { connect } from './talk.mjs';

// The next try, from what the error's details say and nothing else.
function repaired(params, { code, details }) {
    const name = details?.param_name;
    switch (code) {
        case 'VALIDATION_MISSING_PARAM':
            assert.ok(details.signature.includes(`${name}: string`), details.signature);
            return { ...params, [name]: 'text' };
        case 'VALIDATION_UNKNOWN_PARAM':
            return Object.fromEntries(
                Object.entries(params).map(([key, value]) => [details.suggestions[key] ?? key, value]),
            );
        case 'VALIDATION_INVALID_TYPE':
            assert.equal(details.expected_type, 'integer');
            return { ...params, [name]: Number.parseInt(params[name], 10) };
        case 'VALIDATION_INVALID_ENUM':
            return { ...params, [name]: details.allowed_values[0] };
        case 'VALIDATION_OUT_OF_RANGE':
            return { ...params, [name]: details.maximum };
        case 'VALIDATION_PATTERN_MISMATCH': {
            const candidates = [params[name].replaceAll(' ', '_'), params[name].replaceAll(/\W/g, '')];
            return { ...params, [name]: candidates.find((text) => new RegExp(details.pattern).test(text)) };
        }
        default:
            throw new Error(`no way on from ${code}`);
    }
}

export function workspace(kind, transport) {
    test('REQ-COST-05 LREQ-MCP-09: list, detail, call, knowing only what the answers said', async (t) => {
        const talk = await connect(t, kind, transport, new Aqueduct(t));
        const { tools } = await talk.client.listTools();
        const reader = tools.find((tool) => tool.annotations.readOnlyHint).name;
        const { operations } = await talk.data(reader, 'introspect', { query: 'operations' });
        const { name } = operations.find((operation) => operation.semantic_category === 'CREATE');
        const { operation } = await talk.data(reader, 'introspect', { query: 'operations', name });
        const made = await talk.answer(operation.mcpTool, operation.examples[0].request);
        assert.ok(made.success, JSON.stringify(made));
    });

    test('REQ-CONC-05 REQ-CONC-06 LREQ-MCP-09 LREQ-MCP-10 LREQ-MCP-11: the life of an entity', async (t) => {
        const talk = await connect(t, kind, transport, new Aqueduct(t));
        const request = { entity_name: 'Pump', entity_type: 'resource', description: 'Moves water', tags: ['wet'] };
        const made = await talk.data('mcp_aql_create', 'create_entity', request);
        assert.deepEqual({ ...made, ...request }, made);
        assert.equal(made.priority, 5);
        const which = { entity_id: made.entity_id };
        assert.deepEqual(await talk.data('mcp_aql_read', 'get_entity', which), made);

        const change = { ...which, input: { priority: 8 }, if_match: made._etag };
        const changed = await talk.data('mcp_aql_update', 'update_entity', change);
        assert.equal(changed.priority, 8);
        assert.notEqual(changed._etag, made._etag);
        const late = { ...which, input: { priority: 1 }, if_match: made._etag };
        assert.equal((await talk.error('mcp_aql_update', 'update_entity', late)).code, 'CONFLICT_VERSION_MISMATCH');
        assert.deepEqual(await talk.data('mcp_aql_read', 'get_entity', which), changed);

        await talk.data('mcp_aql_delete', 'delete_entity', which);
        assert.equal((await talk.error('mcp_aql_read', 'get_entity', which)).code, 'NOT_FOUND_RESOURCE');
        assert.deepEqual(talk.errors, []);
    });

    test('LREQ-MCP-10 LREQ-MCP-11: each mistake can be corrected from its details', async (t) => {
        const talk = await connect(t, kind, transport, new Aqueduct(t));
        let params = { entity_name: 'Big pump', entity_type: 'itm', priorty: '11' };
        const seen = [];
        let answer;
        for (let attempt = 0; attempt < 10; attempt++) {
            answer = await talk.answer('mcp_aql_create', { operation: 'create_entity', params });
            if (answer.success) break;
            seen.push(answer.error.code);
            params = repaired(params, answer.error);
        }
        assert.ok(answer.success, JSON.stringify(answer));
        assert.deepEqual(seen.toSorted(), [
            'VALIDATION_INVALID_ENUM',
            'VALIDATION_INVALID_TYPE',
            'VALIDATION_MISSING_PARAM',
            'VALIDATION_OUT_OF_RANGE',
            'VALIDATION_PATTERN_MISMATCH',
            'VALIDATION_UNKNOWN_PARAM',
        ]);
        assert.equal(answer.data.priority, 10);
    });

    test('REQ-ROUTE-04 LREQ-MCP-11: the wrong tool names the right one, which then works', async (t) => {
        const talk = await connect(t, kind, transport, new Aqueduct(t));
        const request = { entity_name: 'Valve', entity_type: 'item', description: 'Opens' };
        const { code, details } = await talk.error('mcp_aql_read', 'create_entity', request);
        assert.equal(code, 'VALIDATION_ENDPOINT_MISMATCH');
        await talk.data(details.tool, 'create_entity', request);
    });

    test('REQ-BATCH-05 REQ-BATCH-08 LREQ-MCP-09: a batch has a result for each, in order', async (t) => {
        const talk = await connect(t, kind, transport, new Aqueduct(t));
        const create = (entity_name) => ({
            operation: 'create_entity',
            params: { entity_name, entity_type: 'item', description: 'one of several' },
        });
        const read = { operation: 'get_entity', params: { entity_name: 'One' } };
        const operations = [create('One'), create('One'), create('Two'), read];
        const answer = await talk.answer('mcp_aql_create', { operations });
        assert.ok(answer.success);
        assert.equal(answer.data, null);
        assert.deepEqual(answer.summary, { total: 4, succeeded: 2, failed: 2 });
        assert.deepEqual(answer.results.map((entry) => entry.index), [0, 1, 2, 3]);
        const outcomes = answer.results.map((entry) => entry.result.error?.code);
        const expected = [undefined, 'CONFLICT_ALREADY_EXISTS', undefined, 'VALIDATION_ENDPOINT_MISMATCH'];
        assert.deepEqual(outcomes, expected);
        assert.equal((await talk.data('mcp_aql_read', 'list_entities')).items.length, 2);
    });

    test('REQ-SESS-04 REQ-SESS-11: a new connection is a new session on the same things', async (t) => {
        const server = new Aqueduct(t);
        const request = { entity_name: 'Well', entity_type: 'resource', description: 'Deep' };
        const before = await connect(t, kind, transport, server);
        const made = await before.data('mcp_aql_create', 'create_entity', request);
        const first = await before.sessionId();
        assert.equal(await before.sessionId(), first);
        await before.close();
        const after = await connect(t, kind, transport, server);
        assert.deepEqual(await after.data('mcp_aql_read', 'get_entity', { entity_id: made.entity_id }), made);
        assert.notEqual(await after.sessionId(), first);
    });

    test('REQ-LIFE-01 REQ-LIFE-05 REQ-PARAM-10: steps run by themselves, a summary counts what they made', async (t) => {
        const talk = await connect(t, kind, transport, new Aqueduct(t));
        const made = { entity_name: { $from: '/item' }, entity_type: 'item', description: 'made by a step' };
        const step = { name: 'make', operation: 'create_entity', for_each: ['One', 'Two', 'Three'], params: made };
        const request = { entity_type: 'workflow', description: 'Makes', metadata: { steps: [step] } };
        await talk.data('mcp_aql_create', 'create_entity', { entity_name: 'Maker', ...request });
        const call = { entity_name: 'Maker', wait_seconds: 0 };
        const started = await talk.data('mcp_aql_execute', 'execute_workflow', call);
        const which = { execution_id: started.execution_id, wait_seconds: 30 };
        const done = await talk.data('mcp_aql_read', 'get_execution', which);
        assert.equal(done.status, 'completed', JSON.stringify(done));
        const summary = { aggregate: { types: { group_by: 'entity_type', count: true } } };
        const counted = await talk.data('mcp_aql_read', 'list_entities', summary);
        assert.deepEqual(counted.aggregations.types, { item: 3, workflow: 1 });
    });
}
