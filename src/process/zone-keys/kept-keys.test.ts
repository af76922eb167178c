import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { keyFile } from '../../dns/dnssec/key-files.ts';
import { generateKeySet } from '../../dns/dnssec/key-set.ts';
import { readSecrets } from '../node/keys.ts';
import { controlSecrets, fileZoneKeys } from './control-secrets.ts';

const ZONE = 'uqrp.net';
const DAY = 86_400_000;

it('a reading of secrets is the one before until a key file or the day changes', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-kept-keys-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  let now = 10 * DAY;
  const clock = (): number => now;
  const keys = fileZoneKeys(dataDir, clock);
  const first = await keys.load(ZONE);
  const source = controlSecrets({
    keys,
    zones: [ZONE],
    mode: 'full',
    cookieKey: Buffer.alloc(32, 1),
    ticketKey: null,
    clock,
  });
  const read = readSecrets(source, [ZONE]);
  const one = await read();
  assert.equal(await read(), one);
  now += DAY;
  const nextDay = await read();
  assert.notEqual(nextDay.mark, one.mark);
  assert.deepEqual(nextDay.secrets.cookies[1], one.secrets.cookies[2]);
  // Set back: the secrets of the day before are in use again.
  now -= DAY;
  assert.equal((await read()).mark, one.mark);

  await keys.update(ZONE, () => ({ keys: generateKeySet(ZONE, now) }));
  const changed = await read();
  assert.notEqual(changed.mark, one.mark);
  assert.notDeepEqual((await keys.find(ZONE))?.keys[0]?.keyTag, first.keys[0]?.keyTag);
  rmSync(keyFile(dataDir, ZONE));
  await assert.rejects(read());
});
