// Every answer against the specification's schemas, where those lie beside the checkout; counted either way.

import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv/dist/2020.js';

const folder = process.env.AQUEDUCT_SPEC_SCHEMAS;
const ajv = new Ajv.default({ strict: false, validateFormats: false, allErrors: true });
const compiled = new Map();
let count = 0;

function validator(name) {
    if (!compiled.has(name)) {
        compiled.set(name, ajv.compile(JSON.parse(readFileSync(join(folder, `${name}.schema.json`), 'utf8'))));
    }
    return compiled.get(name);
}

function kind(request) {
    if ('operations' in request) return 'batch-operation';
    return request.operation === 'introspect' ? 'introspection-response' : 'operation-result';
}

export function check(request, answer) {
    count += 1;
    if (!folder) return;
    const name = kind(request);
    const validate = validator(name);
    assert.ok(validate(answer), `not a valid ${name}: ${JSON.stringify(validate.errors)}\n${JSON.stringify(answer)}`);
}

// Every test file is a process of its own; the runner adds up what they saw.
process.on('exit', () => {
    if (process.env.AQUEDUCT_ANSWER_COUNTS) appendFileSync(process.env.AQUEDUCT_ANSWER_COUNTS, `${count}\n`);
});
