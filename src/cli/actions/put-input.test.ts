import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { InputError, UsageError } from '../../base/errors.ts';
import { type PutOptions, putData, putFields } from './put-input.ts';

const bodyOf = (options: PutOptions, data = Buffer.from('x')) => putFields(data, options);

describe('the body of a put', () => {
  it('has the seconds of --expires', () => {
    for (const [text, seconds] of [
      ['30s', 30],
      ['5m', 300],
      ['1h', 3600],
      ['7d', 604_800],
    ] as const) {
      assert.equal(bodyOf({ expires: text }).expires_in, seconds);
    }
    for (const text of ['', '0s', '5', 'h', '1.5h', '-1h', '1w', '1H', ' 1h', '1h30m', '99999999999s']) {
      assert.throws(() => bodyOf({ expires: text }), UsageError, text);
    }
  });

  it('has the media type of --type, else that of text or of any octets', () => {
    assert.equal(bodyOf({}).content_type, 'text/plain');
    assert.equal(bodyOf({ file: 'a.png' }).content_type, 'application/octet-stream');
    assert.equal(bodyOf({ file: 'a', type: 'image/png' }).content_type, 'image/png');
  });

  it('has the octets as Base64, and no field that was not given', () => {
    const data = Buffer.from([0, 255, 10]);
    assert.deepEqual(bodyOf({}, data), { data: 'AP8K', content_type: 'text/plain' });
  });

  it('is in plain text where dig prints the text as it is, and where an option says so', () => {
    const encoding = (text: string, options: PutOptions = {}) => bodyOf(options, Buffer.from(text)).encoding;
    for (const text of ['', 'hello; world', 'a;b=c;d=e', "!#[]~ '", 'x'.repeat(211)]) {
      assert.equal(encoding(text), 'plain', text);
      assert.equal(encoding(text, { b64: true }), undefined);
      assert.equal(encoding(text, { file: 'a' }), undefined);
    }
    for (const text of ['"', '\\', '\n', '\t', '\u007f', 'ü', 'x'.repeat(212)]) {
      assert.equal(encoding(text), undefined, text);
      assert.equal(encoding(text, { plain: true }), 'plain');
      assert.equal(encoding(text, { plain: true, file: 'a' }), 'plain');
    }
    // The head has the format and the hint: `json` has the letters of `text`, `bin` one fewer.
    assert.equal(encoding('x'.repeat(212), { type: 'a/b' }), 'plain');
    assert.equal(encoding('x'.repeat(213), { type: 'a/b' }), undefined);
    assert.equal(encoding('x'.repeat(213), { ttl: '5' }), 'plain');
    assert.equal(encoding('x'.repeat(214), { ttl: '5' }), undefined);
  });
});

describe('the octets of a put', () => {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-put-'));
  after(() => rmSync(dir, { recursive: true }));

  it('are those of the text or of the file, and one more than a record holds at most', async () => {
    const file = join(dir, 'file');
    for (const octets of [Buffer.alloc(0), Buffer.from([0, 10, 255]), Buffer.alloc(2586, 7)]) {
      writeFileSync(file, octets);
      assert.deepEqual(await putData(undefined, { file }), octets);
    }
    writeFileSync(file, Buffer.alloc(100_000));
    assert.equal((await putData(undefined, { file })).length, 2587);
    assert.deepEqual(await putData('', {}), Buffer.alloc(0));
    assert.deepEqual(await putData('ü', {}), Buffer.from('ü'));
  });

  it('come from exactly one place', async () => {
    await assert.rejects(putData(undefined, {}), UsageError);
    await assert.rejects(putData('', { file: 'f' }), UsageError);
  });

  it('are missing for a reason that is told', async () => {
    const faultOf = async (file: string): Promise<string> =>
      await putData(undefined, { file }).then(
        () => 'none',
        (error: unknown) => (error instanceof InputError ? error.message : 'another error'),
      );
    assert.match(await faultOf(dir), /cannot be read: it is a directory$/);
    assert.match(await faultOf(join(dir, 'absent')), /absent cannot be read: there is no such file$/);
  });
});
