import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/lifecycle/manual-timers.ts';
import type { EncryptedKeySet } from '../../core/encrypted-keys.ts';
import { DecryptError, encryptKeySet } from '../dnssec/keys/key-encryption.ts';
import { generateKeySet, type KeySetData, keySetData } from '../dnssec/keys/key-set.ts';
import { firstKeys } from './first-keys.ts';
import { keyCopy, sharedKeys } from './shared-keys.ts';

const ZONE = 'uqrp.net';
const KEY = Buffer.alloc(32, 1);

function encrypted(set: KeySetData, version: number): EncryptedKeySet {
  return { zone: ZONE, version, document: encryptKeySet(set, KEY) };
}

describe('the signing keys that an edge starts with', () => {
  const [one, two] = [1, 2].map((now) => keySetData(generateKeySet(ZONE, now)));
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'uqrp-first-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  /** A start of a node whose source answers with what `answer` returns. */
  function start(answer: () => Promise<readonly EncryptedKeySet[]>, key = KEY) {
    const timers = createManualTimers();
    const waits: unknown[] = [];
    const copyFaults: unknown[] = [];
    const cancelling = new AbortController();
    const read = sharedKeys({ source: { keySets: answer }, zones: [ZONE], key });
    const keys = firstKeys({
      read,
      copy: keyCopy(dataDir, [ZONE], key),
      onWaiting: (error) => waits.push(error),
      onCopyFailed: (error) => copyFaults.push(error),
      cancel: cancelling.signal,
      timers,
    }).then((first) => first.keys);
    return { keys, timers, waits, copyFaults, cancelling };
  }
  const gone = async (): Promise<never> => {
    throw new Error('connection refused');
  };

  it('come from the source, and an encrypted copy with mode 0600 is kept', async () => {
    const set = encrypted(one!, 1);
    assert.deepEqual(await start(async () => [set]).keys, [one]);
    const path = join(dataDir, 'sealed-keys.json');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(
      await keyCopy(dataDir, [ZONE], KEY)
        .read()
        .then(({ mark }) => mark),
      JSON.stringify([set]),
    );
  });

  it('come from the copy while the source is gone (finding R2)', async () => {
    await start(async () => [encrypted(one!, 1)]).keys;
    const { keys, waits } = start(gone);
    assert.deepEqual(await keys, [one]);
    assert.deepEqual(waits, []);
  });

  it('come from the copy when the source does not answer within three seconds, not before', async () => {
    await start(async () => [encrypted(one!, 1)]).keys;
    const { keys, timers } = start(() => new Promise(() => {}));
    let isStarted = false;
    void keys.then(() => {
      isStarted = true;
    });
    await timers.advance(2999);
    assert.equal(isStarted, false);
    await timers.advance(1);
    assert.deepEqual(await keys, [one]);
  });

  it('are those of the source, also when the copy differs', async () => {
    await start(async () => [encrypted(one!, 1)]).keys;
    assert.deepEqual(await start(async () => [encrypted(two!, 2)]).keys, [two]);
    assert.deepEqual(await start(gone).keys, [two]);
  });

  it('are waited for when there are none: the node makes none and retries every second (finding R2)', async () => {
    let tries = 0;
    let made: readonly EncryptedKeySet[] = [];
    const { keys, timers, waits } = start(async () => {
      tries++;
      return made;
    });
    await timers.advance(2000);
    assert.equal(tries, 3);
    assert.equal(waits.length, 1);
    assert.match(String(waits[0]), /nobody has made the signing keys of uqrp\.net yet/);
    made = [encrypted(one!, 1)];
    await timers.advance(1000);
    assert.deepEqual(await keys, [one]);
  });

  it('are waited for until the start is cancelled', async () => {
    const { keys, timers, cancelling } = start(gone);
    await timers.advance(1000);
    cancelling.abort(new Error('stopped'));
    const ended = assert.rejects(keys, /stopped/);
    await timers.advance(1000);
    await ended;
  });

  it('that were encrypted under another secret stop the start', async () => {
    const other = Buffer.alloc(32, 2);
    await assert.rejects(start(async () => [encrypted(one!, 1)], other).keys, DecryptError);
  });

  it('are not taken from a damaged copy', async () => {
    await start(async () => [encrypted(one!, 1)]).keys;
    writeFileSync(join(dataDir, 'sealed-keys.json'), '[{"zone"');
    const { timers, waits } = start(gone);
    await timers.advance(0);
    assert.equal(waits.length, 1);
  });

  it('are used when the copy cannot be written', async () => {
    // A folder in its place cannot be replaced by a file.
    mkdirSync(join(dataDir, 'sealed-keys.json'));
    const { keys, copyFaults } = start(async () => [encrypted(one!, 1)]);
    assert.deepEqual(await keys, [one]);
    assert.equal(copyFaults.length, 1);
  });
});
