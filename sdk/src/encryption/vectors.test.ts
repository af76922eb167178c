import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { decodeHex, encodeHex } from '../../../src/protocol/encodings.ts';
import { encryptAt } from './encrypted.ts';
import { PayloadError, RolledBack } from './faults.ts';
import { readKeyFile } from './key-file.ts';
import { PayloadOpener } from './opener.ts';
import { publicKeyBase64, publicKeyPem, readPublicKey, readSigningKey, signAt } from './signed.ts';

const FOLDER = fileURLToPath(new URL('../../../docs/vectors/', import.meta.url));
const PROGRAM = fileURLToPath(new URL('../../../test/clients/vectors.py', import.meta.url));

interface Made {
  readonly name: string;
  readonly key_id: string;
  readonly record_key: string;
  readonly time: number;
  readonly value: string;
}

interface Opened {
  readonly name: string;
  readonly key_ids: readonly string[];
  readonly record_key: string;
  readonly value: string;
  readonly time?: number | null;
  readonly fault?: string;
}

interface Sequence {
  readonly name: string;
  readonly key_ids: readonly string[];
  readonly record_key: string;
  readonly steps: readonly { readonly value: string; readonly result: string }[];
}

interface Encryption {
  readonly keys: readonly { readonly id: string; readonly line: string }[];
  readonly encrypt: readonly (Made & { readonly nonce: string; readonly plaintext: string })[];
  readonly open: readonly (Opened & { readonly plaintext?: string })[];
  readonly sequences: readonly Sequence[];
}

interface Signatures {
  readonly keys: readonly {
    readonly id: string;
    readonly pem: string;
    readonly public_pem: string;
    readonly public_key: string;
    readonly public_key_base64: string;
  }[];
  readonly sign: readonly (Made & { readonly payload: string })[];
  readonly verify: readonly (Opened & { readonly payload?: string })[];
  readonly sequences: readonly Sequence[];
}

const read = (name: string): unknown => JSON.parse(readFileSync(`${FOLDER}${name}`, 'utf8'));
const encryption = read('encryption.json') as Encryption;
const signatures = read('signatures.json') as Signatures;

const octetsOf = (hex: string): Uint8Array<ArrayBuffer> => decodeHex(hex) ?? new Uint8Array();

const keyFile = (ids: readonly string[]): string =>
  ids.map((id) => encryption.keys.find((key) => key.id === id)!.line).join('\n');
const publicKeys = (ids: readonly string[]): string[] =>
  ids.map((id) => signatures.keys.find((key) => key.id === id)!.public_pem);
const everyKey = keyFile(encryption.keys.map(({ id }) => id));
const everyPublicKey = publicKeys(signatures.keys.map(({ id }) => id));

/** What a reader makes of a value: its data in hexadecimal and its time, or why not. */
async function resultOf(opener: PayloadOpener, recordKey: string, value: Uint8Array) {
  try {
    const { data, time } = await opener.open(recordKey, value);
    return { data: encodeHex(data), time };
  } catch (error) {
    if (error instanceof RolledBack) return 'rolled_back';
    if (error instanceof PayloadError) return error.fault;
    throw error;
  }
}

async function refusesEachOctet(options: ConstructorParameters<typeof PayloadOpener>[0], one: Made) {
  const value = octetsOf(one.value);
  for (let at = 0; at < value.length; at++) {
    for (const change of [1, 0x80, 0xff]) {
      const changed = Uint8Array.from(value, (octet, place) => (place === at ? octet ^ change : octet));
      const result = await resultOf(new PayloadOpener(options), one.record_key, changed);
      assert.equal(typeof result, 'string', `${one.name}: octet ${at}, changed by ${change}, is not refused`);
    }
  }
}

async function runSequence(opener: PayloadOpener, { name, record_key: key, steps }: Sequence) {
  for (const [at, { value, result }] of steps.entries()) {
    const got = await resultOf(opener, key, octetsOf(value));
    assert.equal(typeof got === 'string' ? got : 'ok', result, `${name}, step ${at}`);
  }
}

describe('the published vectors of encryption', () => {
  for (const one of encryption.encrypt) {
    it(`encrypts, and decrypts: ${one.name}`, async () => {
      const [key] = await readKeyFile(keyFile([one.key_id]));
      const [plain, nonce] = [octetsOf(one.plaintext), octetsOf(one.nonce)];
      assert.equal(encodeHex(await encryptAt(key, one.record_key, plain, one.time, nonce)), one.value);
      const opened = await resultOf(
        new PayloadOpener({ keys: everyKey }),
        one.record_key,
        octetsOf(one.value),
      );
      assert.deepEqual(opened, { data: one.plaintext, time: one.time });
    });
  }

  for (const { name, key_ids: ids, record_key: key, value, ...expected } of encryption.open) {
    it(`a reader: ${name}`, async () => {
      const result = await resultOf(new PayloadOpener({ keys: keyFile(ids) }), key, octetsOf(value));
      assert.deepEqual(result, expected.fault ?? { data: expected.plaintext, time: expected.time });
    });
  }

  it('a value with any octet changed is refused, also where plain values are allowed', async () => {
    for (const one of encryption.encrypt.filter(({ value }) => value.length < 800))
      await refusesEachOctet({ keys: everyKey, allowPlain: true }, one);
  });

  for (const one of encryption.sequences) {
    it(one.name, () => runSequence(new PayloadOpener({ keys: keyFile(one.key_ids) }), one));
  }
});

describe('the published vectors of signatures', () => {
  for (const key of signatures.keys) {
    it(`the key ${key.id} has this id, and these forms`, async () => {
      const { public: own } = await readSigningKey(key.pem);
      assert.deepEqual(
        [own.id, encodeHex(own.octets), publicKeyPem(own), publicKeyBase64(own)],
        [key.id, key.public_key, key.public_pem, key.public_key_base64],
      );
      for (const text of [key.public_pem, key.public_key_base64, `${key.public_pem}${key.public_key_base64}`])
        assert.equal((await readPublicKey(text)).id, key.id);
    });
  }

  for (const one of signatures.sign) {
    it(`signs, and verifies: ${one.name}`, async () => {
      const key = await readSigningKey(signatures.keys.find(({ id }) => id === one.key_id)!.pem);
      const value = octetsOf(one.value);
      assert.equal(encodeHex(await signAt(key, one.record_key, octetsOf(one.payload), one.time)), one.value);
      const opened = await resultOf(new PayloadOpener({ signedBy: everyPublicKey }), one.record_key, value);
      assert.deepEqual(opened, { data: one.payload, time: one.time });
    });
  }

  for (const { name, key_ids: ids, record_key: key, value, ...expected } of signatures.verify) {
    it(`a reader: ${name}`, async () => {
      const opener = new PayloadOpener({ signedBy: publicKeys(ids) });
      const result = await resultOf(opener, key, octetsOf(value));
      assert.deepEqual(result, expected.fault ?? { data: expected.payload, time: expected.time });
    });
  }

  it('a value with any octet changed is refused', async () => {
    for (const one of signatures.sign.filter(({ value }) => value.length < 400))
      await refusesEachOctet({ signedBy: everyPublicKey }, one);
  });

  for (const one of signatures.sequences) {
    it(one.name, () => runSequence(new PayloadOpener({ signedBy: publicKeys(one.key_ids) }), one));
  }

  it('an encrypted value that is signed is verified, then decrypted', async () => {
    const one = signatures.sign.at(-1)!;
    const opener = new PayloadOpener({ keys: everyKey, signedBy: everyPublicKey });
    const { data, time } = await opener.open(one.record_key, octetsOf(one.value));
    assert.deepEqual([new TextDecoder().decode(data), time], ['grüße', one.time]);
    const inner = new PayloadOpener({ keys: everyKey });
    assert.equal(await resultOf(inner, one.record_key, octetsOf(one.value)), 'unknown_form');
  });
});

/** A Python with its `cryptography`. */
const python = ['python3', '/usr/bin/python3'].find(
  (program) => spawnSync(program, ['-c', 'import cryptography'], { stdio: 'ignore' }).status === 0,
);

describe('a second implementation, in Python', {
  skip: python === undefined && 'python3-cryptography is not installed',
}, () => {
  it('makes and opens the same values', () => {
    const { stdout, stderr, status } = spawnSync(python!, [PROGRAM, FOLDER], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^\d{4,} checks$/m);
  });
});
