import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { keyTag } from '../../src/dns/dnssec/key-set.ts';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { startManyNodes } from '../support/feed/many-nodes.ts';
import type { Uqrp } from '../support/server-process.ts';
import { askSigned, servedKeys } from '../support/signed-answers.ts';
import { eventually } from './client.ts';

/** Octet 1 of a DNSKEY's flags: 257 is a key that signs keys. */
const isKsk = (rdata: Uint8Array): boolean => rdata[1] === 1;

interface Listed {
  readonly key_tag: number;
}

describe('signing keys of nodes over a broker', { skip: natsMissing() ?? false }, () => {
  for (const mode of ['full', 'split']) {
    it(`sign in ${mode} mode, follow a step of a rollover, and serve with everything else dead`, async () => {
      const world = await startManyNodes({ UQRP_DNSSEC: mode });
      try {
        const control = await world.start(world.controlEnv);
        const env = await world.nodeEnv('one');
        const node: Uqrp = await world.start(env);
        const tagsOf = (keys: readonly Uint8Array[]): number[] => keys.map(keyTag).toSorted((a, b) => a - b);
        const listed = (): number[] =>
          (JSON.parse(control.cli(['dnssec', 'keys', '--json'])) as Listed[])
            .map(({ key_tag }) => key_tag)
            .toSorted((a, b) => a - b);
        const keys = await servedKeys(node.ports.dns);
        assert.deepEqual(tagsOf(keys), listed());
        const { by } = await askSigned(node.ports.dns, '', RRTYPE.SOA, [keys]);
        assert.deepEqual(by, [0]);
        for (const type of [RRTYPE.CDS, RRTYPE.CDNSKEY]) {
          const found = await askSigned(node.ports.dns, '', type, [keys.filter(isKsk), keys]);
          assert.deepEqual(found.by, mode === 'split' ? [0, 1] : [1]);
        }
        assert.equal(existsSync(join(node.dataDir, 'keys')), false);
        for (const entry of readdirSync(node.dataDir, { withFileTypes: true })) {
          if (!entry.isFile()) continue;
          const text = readFileSync(join(node.dataDir, entry.name), 'latin1');
          assert.equal(text.includes('"ksk"') || text.includes('"zsk"'), false, entry.name);
        }

        control.cli(['dnssec', 'rollover', 'zsk']);
        await eventually(async () => (await servedKeys(node.ports.dns)).length === 3);
        assert.deepEqual(tagsOf(await servedKeys(node.ports.dns)), listed());

        const served = await servedKeys(node.ports.dns);
        await world.broker.kill();
        await control.stop();
        await node.stop();
        const again = await world.start(env, node.dataDir);
        assert.deepEqual(tagsOf(await servedKeys(again.ports.dns)), tagsOf(served));
        assert.deepEqual((await askSigned(again.ports.dns, '', RRTYPE.SOA, [served])).by, [0]);
      } finally {
        await world.close();
      }
    });
  }
});
