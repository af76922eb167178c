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

it('a reading of secrets has the keys of the one before until a key file changes, and other secrets of cookies each day', async (t) => {
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
  assert.deepEqual(await read(), one);
  now += DAY;
  const nextDay = await read();
  assert.notEqual(nextDay.marks.periods, one.marks.periods);
  assert.equal(nextDay.marks.keys, one.marks.keys);
  assert.equal(nextDay.secrets.keys, one.secrets.keys);
  assert.deepEqual(nextDay.secrets.cookies[1], one.secrets.cookies[2]);
  // Set back: the secrets of the day before are in use again.
  now -= DAY;
  assert.deepEqual((await read()).marks, one.marks);

  await keys.update(ZONE, () => ({ keys: generateKeySet(ZONE, now) }));
  const changed = await read();
  assert.notEqual(changed.marks.keys, one.marks.keys);
  assert.equal(changed.marks.periods, one.marks.periods);
  assert.notDeepEqual((await keys.find(ZONE))?.keys[0]?.keyTag, first.keys[0]?.keyTag);
  rmSync(keyFile(dataDir, ZONE));
  await assert.rejects(read());
});
