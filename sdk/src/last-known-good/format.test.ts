import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createDecipheriv, hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  isKnownGood,
  KNOWN_GOOD_MAX,
  type KnownAnswers,
  openKnownGood,
  sealKnownGood,
  thatFit,
} from './format.ts';

const VECTOR_FILE = new URL('../../../docs/vectors/last-known-good.json', import.meta.url);
const VECTOR = JSON.parse(readFileSync(VECTOR_FILE, 'utf8')) as {
  readonly credential: string;
  readonly salt: string;
  readonly nonce: string;
  readonly contents: { readonly saved: number; readonly entries: object };
  readonly file: string;
};
const OCTETS = octetsOf(VECTOR.file);
const CONTENTS: KnownAnswers = {
  ...VECTOR.contents,
  entries: new Map(Object.entries(VECTOR.contents.entries)),
};

function octetsOf(hex: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(hex, 'hex'));
}

/** Reads the published vector without any code of this package. */
const PYTHON = `
import json, sys
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
vector = json.load(open(sys.argv[1]))
file = bytes.fromhex(vector["file"])
key = HKDF(SHA256(), 32, file[8:24], b"uqrp-lkg-1").derive(vector["credential"].encode())
text = AESGCM(key).decrypt(file[24:36], file[36:], file[:24])
assert file[:8] == b"UQRPLKG1" and json.loads(text) == vector["contents"]
print("equal")
`;
const hasPython = spawnSync('python3', ['-c', 'import cryptography']).status === 0;

describe('the octets of a last known good file', () => {
  it('are those of the published vector', async () => {
    const random = octetsOf(VECTOR.salt + VECTOR.nonce);
    assert.deepEqual(await sealKnownGood(VECTOR.credential, CONTENTS, random), OCTETS);
    assert.deepEqual(await openKnownGood(VECTOR.credential, OCTETS), CONTENTS);
  });

  it('are what the description says, read by the crypto of Node', async () => {
    const file = Buffer.from(await sealKnownGood('token', CONTENTS));
    const key = Buffer.from(hkdfSync('sha256', 'token', file.subarray(8, 24), 'uqrp-lkg-1', 32));
    const opened = createDecipheriv('aes-256-gcm', key, file.subarray(24, 36));
    opened.setAAD(file.subarray(0, 24)).setAuthTag(file.subarray(-16));
    const json = Buffer.concat([opened.update(file.subarray(36, -16)), opened.final()]).toString('utf8');
    assert.deepEqual(JSON.parse(json), VECTOR.contents);
    assert.equal(file.subarray(0, 8).toString(), 'UQRPLKG1');
  });

  it('are read by Python', { skip: hasPython ? false : 'python3 has no cryptography' }, () => {
    const args = ['-c', PYTHON, VECTOR_FILE.pathname];
    assert.equal(spawnSync('python3', args, { encoding: 'utf8' }).stdout, 'equal\n');
  });

  it('open for no other credential, nor with one bit changed or one octet missing', async () => {
    for (const other of ['', `${VECTOR.credential}x`, VECTOR.credential.toUpperCase()])
      assert.equal(await openKnownGood(other, OCTETS), null);
    for (let at = 0; at < OCTETS.length; at++) {
      const changed = OCTETS.slice();
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      assert.equal(await openKnownGood(VECTOR.credential, changed), null, `octet ${at}`);
      if (at % 16 === 0)
        assert.equal(await openKnownGood(VECTOR.credential, OCTETS.slice(0, at)), null, `${at} octets`);
    }
  });

  it('show nothing of the answers and of the credential, and differ each time', async () => {
    const one = Buffer.from(await sealKnownGood(VECTOR.credential, CONTENTS));
    const other = Buffer.from(await sealKnownGood(VECTOR.credential, CONTENTS));
    assert.notDeepEqual(one.subarray(8, 36), other.subarray(8, 36));
    for (const text of ['shop', 'svc1', VECTOR.credential.slice(0, 8)]) assert.ok(!one.includes(text), text);
  });

  it('are taken for no other shape of JSON', async () => {
    for (const contents of [null, [], { saved: 1 }, { saved: 'x', entries: {} }]) {
      const file = await sealKnownGood('t', contents as never).catch(() => null);
      if (file !== null) assert.equal(await openKnownGood('t', file), null);
    }
    for (const entry of [null, { text: 1, at: 1 }, { text: 'x' }]) {
      const entries = new Map([['a.b.v1', entry as never]]);
      assert.equal(await openKnownGood('t', await sealKnownGood('t', { saved: 1, entries })), null);
    }
  });

  it('come back as they were, for any text', async () => {
    const entry = fc.record({ text: fc.string({ unit: 'binary' }), at: fc.nat() });
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), entry), fc.string(), async (all, credential) => {
        const contents = { saved: 5, entries: new Map(Object.entries(all)) };
        const opened = await openKnownGood(credential, await sealKnownGood(credential, contents));
        assert.deepEqual([...(opened?.entries ?? [])], JSON.parse(JSON.stringify([...contents.entries])));
      }),
      { seed: 4, numRuns: 100 },
    );
  });

  it('are at most 4 MB: the newest answers stay', async () => {
    const text = 'é'.repeat(1700);
    const entries = new Map(Array.from({ length: 1300 }, (_, n) => [`k${n}.env.shop.v1`, { text, at: n }]));
    await assert.rejects(sealKnownGood('t', { saved: 1, entries }), RangeError);
    const fitting = thatFit(entries);
    const file = await sealKnownGood('t', { saved: 1, entries: fitting });
    assert.ok(file.length <= KNOWN_GOOD_MAX && file.length > KNOWN_GOOD_MAX - 5000, String(file.length));
    assert.ok(isKnownGood(file));
    assert.deepEqual(
      [...fitting.keys()].toSorted(),
      [...entries.keys()].slice(1300 - fitting.size).toSorted(),
    );
    const few = new Map([...entries].slice(0, 5));
    assert.equal(thatFit(few).size, 5);
  });
});
