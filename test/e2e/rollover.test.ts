import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type DsAnswer, startDsResolver } from '../support/process/ds-resolver.ts';
import { startUqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

const DAY = 86_400_000;

interface Listed {
  readonly role: string;
  readonly state: string;
  readonly next: { readonly step: string; readonly confirm: string | null } | null;
}

describe('a server whose keys are 400 days old', () => {
  it('rolls them at its starts when it is told to, the KSK once its parent has the DS', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'uqrp-test-'));
    let atParent: DsAnswer = [];
    const resolver = await startDsResolver(() => atParent);
    const env = { UQRP_WORKERS: '1', UQRP_DNSSEC_ROLLOVER: 'auto', UQRP_RESOLVERS: resolver.address };

    /** Starts, waits until `roles` are in these states, and stops. Returns what the metrics say. */
    async function runUntil(role: string, isThere: (keys: readonly Listed[]) => boolean): Promise<string> {
      const server = await startUqrp(env, dir);
      try {
        const keys = (): Listed[] =>
          (JSON.parse(server.cli(['dnssec', 'keys', '--json'])) as Listed[]).filter(
            (key) => key.role === role,
          );
        await eventually(async () => isThere(keys()));
        const metrics = await fetch(`http://127.0.0.1:${server.ports.http}/metrics`);
        if (role === 'ksk') {
          const lines = server.cli(['dnssec', 'ds']).trim().split('\n');
          atParent = lines.map((line) => line.split(' IN DS ')[1]!);
        }
        return await metrics.text();
      } finally {
        await server.stop();
      }
    }
    try {
      await runUntil('zsk', (keys) => keys.length === 1);
      const file = join(dir, 'keys', 'uqrp.net.json');
      const set = JSON.parse(readFileSync(file, 'utf8')) as {
        keys: { stateSince: number; createdAt: number }[];
      };
      for (const key of set.keys) key.stateSince = key.createdAt = Date.now() - 400 * DAY;
      writeFileSync(file, JSON.stringify(set), { mode: 0o600 });

      const first = await runUntil(
        'ksk',
        (keys) => keys.map(({ state }) => state).join() === 'active,published',
      );
      assert.match(first, /^uqrp_dnssec_rollover_steps_total\{role="zsk",step="publish"\} 1$/m);
      assert.match(first, /^uqrp_dnssec_rollover_waiting\{role="ksk"\} 0$/m);
      // The parent has both by now: the second start notes it, and waits until caches have it too.
      const second = await runUntil('ksk', (keys) => keys.some(({ next }) => next?.step === 'switch'));
      assert.match(second, /^uqrp_dnssec_rollover_steps_total\{role="ksk",step="ds-added"\} 1$/m);
      assert.match(second, /^uqrp_dnssec_key_signs_since_timestamp_seconds\{role="ksk"\} \d+$/m);
    } finally {
      resolver.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
