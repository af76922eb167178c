import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import {
  decryptPayload,
  ENCRYPTED_PLAINTEXT_MAX,
  encryptPayload,
  envelopeTime,
  KEY_FILE_MAX,
  newKeyLine,
  newSigningKey,
  type OpenOptions,
  PayloadOpener,
  protectPayload,
  publicKeyBase64,
  REMEMBERED_KEYS_MAX,
  readKeyFile,
  readPublicKey,
  readSigningKey,
  SIGNED_PAYLOAD_MAX,
  signPayload,
} from '../encryption.ts';

const KEY = 'db.env.shop.v1';
const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const textIn = ({ data }: { readonly data: Uint8Array }): string => new TextDecoder().decode(data);

describe('key files', () => {
  it('the first key encrypts, all decrypt; notes, empty lines and line ends of Windows are passed over', async () => {
    const [old, fresh] = [await newKeyLine('of 2025'), await newKeyLine()];
    const before = await encryptPayload((await readKeyFile(old))[0], KEY, utf8('old'));
    const keys = await readKeyFile(`${fresh}\r\n\n  ${old}\r\n`);
    assert.equal(textIn(await decryptPayload(keys, KEY, before)), 'old');
    assert.equal(
      (await decryptPayload(keys, KEY, await encryptPayload(keys[0], KEY, utf8('new')))).keyId,
      keys[0].id,
    );
    assert.notEqual(keys[0].id, keys[1]?.id);
  });

  it('a line that is no key is named by its number, and never quoted', async () => {
    const line = await newKeyLine();
    const [form, id = '', secret = ''] = line.split(' ');
    const wrong = [
      'no key at all',
      `uqrp-key-3 ${id} ${secret}`,
      `${form} ${id}`,
      `${form} ${id} ${secret}A`,
      `${form} ${id} ${secret.slice(1)}`,
      `${form} ${id} ${secret}=`,
      `${form} ${id.replace(/^./, (letter) => (letter === '0' ? '1' : '0'))} ${secret}`,
      `${form} ${id.toUpperCase()}x ${secret}`,
    ];
    for (const text of wrong) {
      await assert.rejects(readKeyFile(`${line}\n${text}`), (error: Error) => {
        assert.equal(error.name, 'TypeError');
        assert.match(error.message, /^line 2 of the key file /);
        assert.ok(!error.message.includes(secret.slice(1)) && !error.message.includes('no key at all'));
        return true;
      });
    }
    for (const text of ['', ' \n\n'])
      await assert.rejects(readKeyFile(text), /^TypeError: the key file has no key$/);
  });

  it('has 65,536 characters at most', async () => {
    const line = await newKeyLine();
    assert.equal((await readKeyFile(line.padEnd(KEY_FILE_MAX, '\n'))).length, 1);
    await assert.rejects(readKeyFile(line.padEnd(KEY_FILE_MAX + 1, '\n')), /more than 65536 characters/);
  });

  it('a note is one line, and a secret has 32 octets', async () => {
    await assert.rejects(newKeyLine('a\nb'), TypeError);
    await assert.rejects(newKeyLine('', new Uint8Array(31)), TypeError);
    assert.match(await newKeyLine('of 2026'), /^uqrp-key-2 [0-9a-f]{16} [\w-]{43} of 2026$/);
  });
});

describe('values that are too long', () => {
  it('2,543 octets can be encrypted, 2,507 signed, and both fit into a record', async () => {
    const [key] = await readKeyFile(await newKeyLine());
    const signing = await readSigningKey(await newSigningKey());
    assert.deepEqual([ENCRYPTED_PLAINTEXT_MAX, SIGNED_PAYLOAD_MAX], [2543, 2507]);
    assert.equal((await encryptPayload(key, KEY, new Uint8Array(2543))).length, 2586);
    assert.equal((await signPayload(signing, KEY, new Uint8Array(2507))).length, 2586);
    await assert.rejects(encryptPayload(key, KEY, new Uint8Array(2544)), RangeError);
    await assert.rejects(signPayload(signing, KEY, new Uint8Array(2508)), RangeError);
  });

  it('one that is encrypted and signed has 2,464 at most', async () => {
    const options = { encryptTo: await newKeyLine(), signWith: await newSigningKey() };
    assert.equal((await protectPayload(options, KEY, new Uint8Array(2464))).length, 2586);
    await assert.rejects(protectPayload(options, KEY, new Uint8Array(2465)), RangeError);
  });
});

describe('signing keys', () => {
  it('other texts than PEM and Base64 are no keys, and no message quotes them', async () => {
    const pem = await newSigningKey();
    const { public: own } = await readSigningKey(pem);
    const base64 = publicKeyBase64(own);
    for (const text of ['', 'secret text', pem, base64.slice(4), `${base64}AAAA`, base64.replace('=', '')])
      await assert.rejects(
        readPublicKey(text),
        (error: Error) => error instanceof TypeError && !error.message.includes('secret'),
      );
    for (const text of [
      '',
      base64,
      pem.replace('PRIVATE', 'PUBLIC'),
      pem.replace(/\n[A-Za-z0-9+/=]{8}/, '\n'),
    ])
      await assert.rejects(readSigningKey(text), TypeError);
  });
});

async function openerWith(options: Omit<OpenOptions, 'keys'> = {}) {
  const line = await newKeyLine();
  const [key] = await readKeyFile(line);
  return {
    opener: new PayloadOpener({ keys: line, ...options }),
    encrypt: (text: string, recordKey = KEY) => encryptPayload(key, recordKey, utf8(text)),
  };
}

describe('the time of a value', () => {
  it('is that of the clock, or one later than that of the value before', async (t) => {
    t.after(() => mock.timers.reset());
    mock.timers.enable({ apis: ['Date'], now: 5_000_000_000_000 });
    const [key] = await readKeyFile(await newKeyLine());
    const timeWith = async (after?: number | null) =>
      envelopeTime(await encryptPayload(key, KEY, utf8('x'), { after }));
    assert.equal(await timeWith(), 5_000_000_000_000);
    assert.equal(await timeWith(null), 5_000_000_000_000);
    assert.equal(await timeWith(4_999_999_999_999), 5_000_000_000_000);
    assert.equal(await timeWith(5_000_000_000_000), 5_000_000_000_001);
    assert.equal(await timeWith(6_000_000_000_000), 6_000_000_000_001);
    await assert.rejects(timeWith(2 ** 48 - 1), RangeError);
  });

  it('is read from whole encrypted and signed values alone', async () => {
    const { encrypt } = await openerWith();
    const value = await encrypt('');
    assert.ok(envelopeTime(value)! > 1_700_000_000_000);
    assert.equal(envelopeTime(value.subarray(0, 42)), null);
    const signed = await signPayload(await readSigningKey(await newSigningKey()), KEY, utf8(''));
    assert.ok(envelopeTime(signed)! > 1_700_000_000_000);
    assert.equal(envelopeTime(signed.subarray(0, 78)), null);
    assert.equal(
      envelopeTime(utf8('plain text, and long enough to be a value of either form ...........')),
      null,
    );
    assert.equal(envelopeTime(new Uint8Array()), null);
  });
});

describe('a reader of encrypted values', () => {
  it('refuses a value that is older than one before it, of the same record alone, in any case of its key', async (t) => {
    t.after(() => mock.timers.reset());
    mock.timers.enable({ apis: ['Date'], now: 1000 });
    const { opener, encrypt } = await openerWith();
    const [old, other] = [await encrypt('old'), await encrypt('other', 'mail.env.shop.v1')];
    mock.timers.tick(1);
    const fresh = await encrypt('new');
    await opener.open(KEY, fresh);
    await assert.rejects(opener.open(KEY, old), {
      name: 'RolledBack',
      time: 1000,
      message: 'older than a value that was read before',
    });
    await assert.rejects(opener.open(KEY.toUpperCase(), old), { name: 'RolledBack' });
    assert.equal(textIn(await opener.open('mail.env.shop.v1', other)), 'other');
    assert.equal(textIn(await opener.open(KEY, fresh)), 'new');
  });

  it('knows after a restart what it is told of the values before', async (t) => {
    t.after(() => mock.timers.reset());
    mock.timers.enable({ apis: ['Date'], now: 1000 });
    const { opener, encrypt } = await openerWith();
    const old = await encrypt('old');
    mock.timers.tick(1);
    opener.remember(KEY.toUpperCase(), await encrypt('new'));
    opener.remember(KEY, old);
    opener.remember(KEY, utf8('plain'));
    await assert.rejects(opener.open(KEY, old), { name: 'RolledBack' });
  });

  it(`remembers 10,000 records, and forgets the one that was read longest ago`, async (t) => {
    t.after(() => mock.timers.reset());
    mock.timers.enable({ apis: ['Date'], now: 1000 });
    const { opener, encrypt } = await openerWith();
    const old = await encrypt('old');
    mock.timers.tick(1);
    const fresh = await encrypt('new');
    opener.remember(KEY, fresh);
    for (let n = 1; n < REMEMBERED_KEYS_MAX; n++) opener.remember(`a${n}.env.shop.v1`, fresh);
    await assert.rejects(opener.open(KEY, old), { name: 'RolledBack' });
    opener.remember('one-more.env.shop.v1', fresh);
    assert.equal(textIn(await opener.open(KEY, old)), 'old');
  });

  it('refuses a value that was written longer ago than accepted, to the millisecond', async (t) => {
    t.after(() => mock.timers.reset());
    mock.timers.enable({ apis: ['Date'], now: 1000 });
    const { opener, encrypt } = await openerWith({ maxAge: 60 });
    const value = await encrypt('x');
    mock.timers.tick(60_000);
    assert.equal(textIn(await opener.open(KEY, value)), 'x');
    mock.timers.tick(1);
    await assert.rejects(opener.open(KEY, value), {
      name: 'RolledBack',
      message: 'written longer ago than accepted',
    });
    for (const maxAge of [0, -1, Number.NaN])
      assert.throws(() => new PayloadOpener({ keys: 'x', maxAge }), TypeError);
  });

  it('gives text that is not encrypted only where that is allowed', async () => {
    const closed = await openerWith();
    await assert.rejects(closed.opener.open(KEY, utf8('hello')), {
      message: 'not encrypted',
      fault: 'plain',
    });
    const open = await openerWith({ allowPlain: true });
    assert.deepEqual(await open.opener.open(KEY, utf8('hello')), {
      data: utf8('hello'),
      time: null,
      keyId: null,
    });
    await assert.rejects(open.opener.open(KEY, Uint8Array.of(4, 1, 2)), { message: 'unknown form' });
    await assert.rejects(
      open.opener.open(KEY, await closed.encrypt('x')),
      /^PayloadError: encrypted with key [0-9a-f]{16}, which the key file does not have$/,
    );
  });

  it('names the key file of the caller', async () => {
    const { encrypt } = await openerWith();
    const { opener } = await openerWith({ keyFile: 'env.key' });
    await assert.rejects(opener.open(KEY, await encrypt('x')), /which env\.key does not have$/);
  });

  it('needs keys of one kind, and each of them must be one', async () => {
    assert.throws(() => new PayloadOpener({}), TypeError);
    assert.throws(() => new PayloadOpener({ signedBy: [] }), TypeError);
    await assert.rejects(new PayloadOpener({ keys: 'x' }).ready(), TypeError);
    await assert.rejects(new PayloadOpener({ signedBy: 'x' }).open(KEY, utf8('x')), TypeError);
  });

  it('with public keys refuses what is not signed, also where plain values are allowed', async () => {
    const pem = await newSigningKey();
    const signing = await readSigningKey(pem);
    const line = await newKeyLine();
    const options = { keys: line, signedBy: publicKeyBase64(signing.public), allowPlain: true };
    const opener = new PayloadOpener(options);
    await assert.rejects(opener.open(KEY, utf8('x')), { message: 'not signed' });
    const encrypted = await protectPayload({ encryptTo: line }, KEY, utf8('x'));
    await assert.rejects(opener.open(KEY, encrypted), { message: 'not signed' });
    assert.equal(textIn(await opener.open(KEY, await signPayload(signing, KEY, utf8('plain')))), 'plain');
    const both = await protectPayload({ encryptTo: line, signWith: pem }, KEY, utf8('both'));
    assert.equal(textIn(await opener.open(KEY, both)), 'both');
  });
});
