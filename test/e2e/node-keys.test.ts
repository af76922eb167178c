import assert from 'node:assert/strict';
import { createPrivateKey, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { keyTag } from '../../src/dns/dnssec/key-set.ts';
import { secretsCopy } from '../../src/feed/keys/secrets.ts';
import { parseCredentials } from '../../src/feed/ports/credentials.ts';
import { deriveKey } from '../../src/ops/config/data-dir.ts';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { runCli } from '../support/command.ts';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { startManyNodes } from '../support/feed/many-nodes.ts';
import type { Uqrp } from '../support/server-process.ts';
import { askSigned, servedKeys } from '../support/signed-answers.ts';
import { eventually } from './client.ts';

/** Octet 1 of a DNSKEY's flags: 257 is a key that signs keys. */
const isKsk = (rdata: Uint8Array): boolean => rdata[1] === 1;

interface Listed {
  readonly role: string;
  readonly state: string;
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

  it('that was stolen while a key was published: no key that the node had signs after the steps of NODES.md', async () => {
    const world = await startManyNodes();
    try {
      const control = await world.start(world.controlEnv);
      const env = await world.nodeEnv('old1');
      const node = await world.start(env);
      const listed = (): Listed[] => JSON.parse(control.cli(['dnssec', 'keys', '--json'])) as Listed[];
      for (const role of ['zsk', 'ksk']) control.cli(['dnssec', 'rollover', role]);
      await eventually(async () => (await servedKeys(node.ports.dns)).length === 4);
      const thief = (): number[] => tagsInCopy('old1', node.dataDir, `${env.UQRP_FEED_CREDENTIALS}`);
      await eventually(async () => thief().length === 4);
      const stolen = thief();

      const removed = await runCli(['node', 'remove', 'old1', '--feed', world.feed.dir], {});
      const commands = [...removed.errors.matchAll(/"uqrp (dnssec rollover [^"]+)"/g)].map(
        ([, words]) => words!,
      );
      assert.deepEqual(commands, ['dnssec rollover zsk --anew', 'dnssec rollover ksk --anew']);
      await world.broker.reload();
      for (const command of commands)
        assert.match(control.cli(command.split(' ')), /publish of key \d+ is done/);
      const file = join(control.dataDir, 'keys', 'uqrp.net.json');
      const set = JSON.parse(readFileSync(file, 'utf8')) as { keys: { stateSince: number }[] };
      for (const key of set.keys) key.stateSince -= 400 * 86_400_000;
      writeFileSync(file, JSON.stringify(set), { mode: 0o600 });
      // Control reads nodes.json once a second: until then the removed node is behind.
      await eventually(async () => {
        try {
          assert.match(control.cli(['dnssec', 'rollover', 'zsk']), /switch of key \d+ is done/);
          return true;
        } catch (error) {
          if (!String((error as { stderr?: string }).stderr).includes('Behind: old1.')) throw error;
          return false;
        }
      });
      const signs = listed().filter(({ role, state }) => role === 'zsk' && state === 'active');
      assert.deepEqual(
        signs.filter(({ key_tag }) => stolen.includes(key_tag)),
        [],
      );
      assert.equal(signs.length, 1);
      const next = listed().filter(({ state }) => state === 'published');
      assert.deepEqual(
        next.map(({ role, key_tag }) => [role, stolen.includes(key_tag)]),
        [['ksk', false]],
      );
    } finally {
      await world.close();
    }
  });
});

/** Tags of the keys in the copy on a node's disk, which its credentials decrypt: with their private parts. */
function tagsInCopy(node: string, dataDir: string, credentials: string): number[] {
  const { decrypt } = parseCredentials(readFileSync(credentials, 'utf8'));
  const own = createPrivateKey(decrypt ?? '').export({ type: 'pkcs8', format: 'der' });
  const key = deriveKey(own, 'node-secrets', 32);
  const copy = secretsCopy({ path: join(dataDir, 'node-secrets'), node, key, random: randomBytes });
  return copy.read()!.secrets.zones.flatMap(({ document }) =>
    (JSON.parse(document) as { keys: { keyTag: number; privateKey: string }[] }).keys.map((key) => {
      assert.match(key.privateKey, /PRIVATE KEY/);
      return key.keyTag;
    }),
  );
}
