import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import type { Outcome } from '../../../test/support/dns/udp/below-program.ts';
import { SCENARIOS } from '../../../test/support/dns/udp/below-scenarios.ts';
import type { XdpChange } from '../../base/network/transport.ts';
import { loadUdpAddon } from './batch-listener.ts';
import { type BelowOptions, keepAttached } from './below.ts';

/** For a busy machine: all scenarios take 15 to 30 seconds. Less than the runner's limit of a test, which would leave the processes behind. */
const PATIENCE_MS = 100_000;
const SUPPORT = fileURLToPath(new URL('../../../test/support/dns/udp/', import.meta.url));

/** Why the scenarios cannot run here; null: they can. */
function missing(): string | null {
  if (loadUdpAddon() === null) return 'no addon for this platform';
  if (process.getuid?.() !== 0) return 'needs root, to load programs of BPF';
  for (const program of ['cc', 'ip', 'nsenter', 'setpriv']) {
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) return `needs ${program}`;
  }
  const tried = 'ip link add xs type veth peer name xc && ip link set xs xdpgeneric off';
  return spawnSync('unshare', ['--net', 'sh', '-c', tried]).status === 0
    ? null
    : 'no network with virtual pairs can be had';
}

const reason = missing();

describe('below the sockets', { skip: reason ?? false }, () => {
  const outcomes = new Map<string, Outcome>();

  // A scenario may wait for what never comes. Then it and those after it have no outcome.
  before(async () => {
    const child = spawn('unshare', ['--net', process.execPath, join(SUPPORT, 'below-program.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    const limit = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), PATIENCE_MS);
    for await (const line of createInterface(child.stdout)) {
      const outcome = JSON.parse(line) as Outcome;
      outcomes.set(outcome.name, outcome);
    }
    clearTimeout(limit);
  });

  for (const name of Object.keys(SCENARIOS)) {
    test(name, () => assert.deepEqual(outcomes.get(name), { name, error: null }));
  }
});

test('frames of any octets are read and answered inside of their memory', { skip: noSanitizer() }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-frames-'));
  after(() => rmSync(dir, { recursive: true }));
  const program = join(dir, 'fuzz');
  const flags = ['-g', '-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'];
  const built = spawnSync('cc', [...flags, '-o', program, join(SUPPORT, 'frame-port.c')], {
    encoding: 'utf8',
  });
  assert.equal(built.status, 0, built.stderr);
  const { status, stdout, stderr } = spawnSync(program, ['-', '300000'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  // As many as have two readable heads.
  assert.ok(Number(stdout) > 20_000, stdout);
});

function noSanitizer(): string | false {
  const { status } = spawnSync('sh', [
    '-c',
    'echo "int main(void){return 0;}" | cc -fsanitize=address,undefined -xc - -o /dev/null',
  ]);
  return status === 0 ? false : 'no compiler with AddressSanitizer';
}

/** A loader whose answers the test gives. */
function asked(answers: readonly number[]) {
  const changes: XdpChange[] = [];
  const states: ((state: number) => void)[] = [];
  const options: BelowOptions = {
    interfaces: ['eth0'],
    queue: 0,
    mode: 'auto',
    loader: '/nowhere',
    onRequests() {},
    onChange: (change) => changes.push(change),
  };
  const timers = createManualTimers();
  const attach = (_name: string, onState: (state: number) => void): number => {
    states.push(onState);
    return answers[states.length - 1] ?? 0;
  };
  return { changes, states, timers, stop: keepAttached(options, attach, timers) };
}

describe('keepAttached', () => {
  const { ENOENT, EBUSY } = constants.errno;

  test('asks again after each refusal, later and later, and reports a reason once', async () => {
    const { changes, states, stop, timers } = asked([-ENOENT, -ENOENT, -EBUSY]);
    await timers.advance(249);
    assert.equal(states.length, 1);
    await timers.advance(1);
    assert.equal(states.length, 2);
    await timers.advance(500);
    assert.equal(states.length, 3);
    await timers.advance(1000);
    assert.equal(states.length, 4);
    assert.deepEqual(changes, [
      { at: 1, type: 'refused', reason: 'no_loader' },
      { at: 1, type: 'refused', reason: 'busy' },
    ]);
    stop();
  });

  test('reports what was attached and what ended, and asks soon after that', async () => {
    const { changes, states, stop, timers } = asked([]);
    states[0]!(1);
    states[0]!(0);
    await timers.advance(250);
    states[1]!(2);
    assert.deepEqual(changes, [
      { at: 1, type: 'attached', mode: 'native' },
      { at: 1, type: 'detached', reason: 'loader_ended' },
      { at: 1, type: 'attached', mode: 'generic' },
    ]);
    stop();
  });

  test('a stop is no change, and nothing is asked after it', async () => {
    const { changes, states, stop, timers } = asked([-ENOENT]);
    stop();
    states[0]!(0);
    await timers.advance(1e6);
    assert.equal(states.length, 1);
    assert.equal(changes.length, 1);
  });
});
