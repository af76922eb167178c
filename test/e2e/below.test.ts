import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import type { UqrpPorts } from '../support/server-process.ts';
import { askSigned, servedKeys } from '../support/signed-answers.ts';
import { eventually } from './client.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/** Starts a server, works with it, and ends it. `log`: all that it has written until now. */
async function serving(
  env: NodeJS.ProcessEnv,
  work: (ports: UqrpPorts, log: () => string) => Promise<void>,
): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-below-e2e-'));
  const free = { UQRP_HTTP_PORT: '0', UQRP_DNS_PORT: '0', UQRP_DOT_PORT: '0', UQRP_DOH_PORT: '0' };
  const child = spawn(process.execPath, [CLI, 'serve', '--json'], {
    env: { ...process.env, UQRP_DATA_DIR: dir, UQRP_WORKERS: '2', ...free, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [first, log] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (first += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  try {
    await eventually(async () => first.includes('\n'), 30_000);
    const { ports } = JSON.parse(first.slice(0, first.indexOf('\n'))) as { ports: UqrpPorts };
    await work(ports, () => first + log);
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
    rmSync(dir, { recursive: true, force: true });
  }
}

async function answers({ dns, http }: UqrpPorts): Promise<void> {
  const keys = await servedKeys(dns);
  const { records } = await askSigned(dns, 'get.5-km-to-mi.units.public.v1', RRTYPE.TXT, [keys]);
  assert.equal(records.length, 1);
  const metrics = await (await fetch(`http://127.0.0.1:${http}/metrics`)).text();
  assert.match(metrics, /uqrp_udp_xdp_queues 0\n/);
  assert.match(metrics, /uqrp_udp_xdp_queries_total 0\n/);
}

const refusals = (log: string, reason: string): number =>
  log.split('\n').filter((line) => line.includes('"xdp.refused"') && line.includes(`"reason":"${reason}"`))
    .length;

describe('a server that is to receive below the sockets', () => {
  it('logs that there is no loader, once a worker, without a name or a path, and its sockets answer', () =>
    serving({ UQRP_XDP: 'zebra0', UQRP_XDP_LOADER: '/nowhere/giraffe' }, async (ports, log) => {
      await eventually(async () => refusals(log(), 'no_loader') === 2, 30_000);
      await answers(ports);
      assert.doesNotMatch(log(), /zebra|giraffe/);
    }));

  it('logs that there is no native code, where Node has the sockets', () =>
    serving({ UQRP_XDP: 'zebra0', UQRP_UDP: 'node' }, async (ports, log) => {
      await eventually(async () => refusals(log(), 'no_native_code') === 2, 30_000);
      await answers(ports);
    }));

  it('asks no loader and says nothing of it by default', () =>
    serving({ UQRP_XDP_LOADER: '/nowhere/giraffe' }, async (ports, log) => {
      await answers(ports);
      assert.doesNotMatch(log(), /xdp\./);
    }));
});
