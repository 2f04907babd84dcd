// What every client, of either package and any protocol version, can do over either transport.

import { describe } from 'node:test';
import { surface } from './surface.mjs';
import { workspace } from './workspace.mjs';
import { running } from './running.mjs';

// Tests mostly wait, and each has a server of its own.
const AT_ONCE = 4;

export function suite(kind) {
    for (const transport of ['stdio', 'http']) {
        describe(`${kind.name}, ${kind.version}, ${transport}`, { concurrency: AT_ONCE }, () => {
            surface(kind, transport);
            workspace(kind, transport);
            running(kind, transport);
        });
    }
}
