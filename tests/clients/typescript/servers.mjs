// The servers under test as processes: how each is started, where it listens, and that it is gone afterwards.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, closeSync, readFileSync, rmSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const START_MS_MAX = 10_000;
const STOP_MS_MAX = 5_000;
const ADDRESS = /^\s*MCP\s+(http:\/\/\S+)\s*$/;

const endings = new WeakMap();

// Runs when the test ends, the last given first: a client closes before its server stops, whatever went wrong.
export function finallyDo(t, ending) {
    if (!endings.has(t)) {
        endings.set(t, []);
        t.after(async () => {
            const failures = [];
            for (const each of endings.get(t).reverse()) {
                await Promise.resolve().then(each).catch((failure) => failures.push(failure));
            }
            if (failures.length > 0) throw failures[0];
        });
    }
    endings.get(t).push(ending);
}

// A directory that is gone after the test.
function home(t) {
    const place = mkdtempSync(join(tmpdir(), 'aqueduct-clients-'));
    finallyDo(t, () => rmSync(place, { recursive: true, force: true }));
    return place;
}

// An empty home, so that no configuration of the person running the tests is found.
export function environment(place) {
    // Nobody is there to be asked.
    const kept = { PATH: process.env.PATH, AQUEDUCT_CONFIRMATION: 'off' };
    return { ...kept, HOME: place, XDG_CONFIG_HOME: place, XDG_DATA_HOME: place };
}

function log(place) {
    return readFileSync(join(place, 'server.log'), 'utf8').slice(-2000);
}

export function openLog(place) {
    return openSync(join(place, 'server.log'), 'a');
}

// `aqueduct serve` on a data directory of its own.
export class Aqueduct {
    constructor(t, ...flags) {
        this.t = t;
        this.home = home(t);
        this.binary = process.env.AQUEDUCT_BINARY;
        this.flags = ['serve', '--data', join(this.home, 'data'), ...flags];
    }

    stdio() {
        return [this.binary, ...this.flags, '--stdio'];
    }

    async http() {
        const child = run(this, [this.binary, ...this.flags, '--http', '127.0.0.1:0']);
        // The server prints its address once it listens; a server that cannot start closes its output instead.
        for await (const line of createInterface({ input: child.stdout })) {
            const found = ADDRESS.exec(line);
            if (found) {
                child.stdout.resume();
                return found[1];
            }
        }
        throw new Error(`the server ended without an address: ${log(this.home)}`);
    }
}

// The example server with operations that wait, report progress and panic.
export class Fixture {
    constructor(t) {
        this.t = t;
        this.home = home(t);
        this.binary = process.env.AQUEDUCT_FIXTURE;
    }

    stdio() {
        return [this.binary];
    }

    async http() {
        // It does not say where it listens, so the port is chosen here. Somebody else may take that port first: then
        // the process ends, and another port is tried.
        for (let attempt = 0; attempt < 5; attempt++) {
            const port = await freePort();
            const child = run(this, [this.binary, `127.0.0.1:${port}`]);
            child.stdout.resume();
            if (await answers(child, port)) return `http://127.0.0.1:${port}/mcp`;
        }
        throw new Error(`the fixture server did not start: ${log(this.home)}`);
    }
}

function run(server, command) {
    const errors = openLog(server.home);
    const child = spawn(command[0], command.slice(1), {
        env: environment(server.home),
        cwd: server.home,
        stdio: ['ignore', 'pipe', errors],
    });
    closeSync(errors);
    finallyDo(server.t, () => stop(child));
    return child;
}

async function stop(child) {
    if (hasEnded(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
    await ended;
    clearTimeout(late);
}

function hasEnded(child) {
    return child.exitCode !== null || child.signalCode !== null;
}

async function freePort() {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address();
    probe.close();
    await once(probe, 'close');
    return port;
}

async function answers(child, port) {
    const end = Date.now() + START_MS_MAX;
    while (!hasEnded(child) && Date.now() < end) {
        const socket = connect(port, '127.0.0.1');
        try {
            await once(socket, 'connect');
        } catch {
            await sleep(20);
            continue;
        } finally {
            socket.destroy();
        }
        // A stranger may have answered; ours would then end at once for want of the port.
        await sleep(100);
        return !hasEnded(child);
    }
    return false;
}
