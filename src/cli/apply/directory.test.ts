import assert from 'node:assert/strict';
import fs, { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, mock } from 'node:test';
import { InputError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { readDirectory } from './directory.ts';

function withFiles<T>(files: Readonly<Record<string, string | Buffer>>, run: (dir: string) => T): T {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-apply-'));
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), content);
    }
    return run(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Faults without the name of the directory. */
function faultsOf(
  files: Readonly<Record<string, string | Buffer>>,
  prepare = (_dir: string): void => {},
): string {
  return withFiles(files, (dir) => {
    prepare(dir);
    try {
      readDirectory(dir, 'shop', 8);
    } catch (error) {
      assert.ok(error instanceof InputError);
      return error.message.replaceAll(`${dir}/`, '');
    }
    return assert.fail('it was taken');
  });
}

describe('a directory of records', () => {
  it('names keys by folder, version and file, and takes octets as they are', () => {
    const octets = Buffer.from([0, 255, 10, 13]);
    const read = withFiles(
      {
        'flags/dark-mode.json': '{"on": true}\n',
        'flags@v2/x.txt': 'two',
        'greeting.txt': 'hello',
        'flags/a.b.bin': octets,
        'flags/README': 'x',
        'flags/odd.constructor': 'x',
        '.git/config': 'left out',
        'flags/.keep': '',
        'blobs/b64.txt': 'AP8K\n',
        'uqrp.json': JSON.stringify({
          namespace: 'Shop',
          ttl_seconds: 60,
          types: { '.txt': 'text/markdown' },
          settings: {
            'x.flags.shop.v2': { ttl_seconds: 5, expires_in: 9 },
            'b64.blobs.shop.v1': { encoding: 'base64', plain: false },
            'greeting.shop.v1': { plain: true },
            'odd.flags.shop.v1': { encoding: 'plain' },
            'readme.flags.shop.v1': { encoding: 'b64' },
          },
        }),
      },
      (dir) => readDirectory(dir, undefined, 8),
    );
    assert.equal(read.namespace, 'shop');
    const settings = { ttlSeconds: 60, expiresIn: null, plain: null };
    assert.deepEqual(Object.fromEntries(read.records.map(({ key, ...rest }) => [key, rest])), {
      'dark-mode.flags.shop.v1': {
        data: Buffer.from('{"on": true}\n'),
        contentType: 'application/json',
        ...settings,
      },
      'x.flags.shop.v2': {
        data: Buffer.from('two'),
        contentType: 'text/markdown',
        ttlSeconds: 5,
        expiresIn: 9,
        plain: null,
      },
      'greeting.shop.v1': {
        data: Buffer.from('hello'),
        contentType: 'text/markdown',
        ...settings,
        plain: true,
      },
      'a.b.flags.shop.v1': { data: octets, contentType: 'application/octet-stream', ...settings },
      'readme.flags.shop.v1': {
        data: Buffer.from('x'),
        contentType: 'application/octet-stream',
        ...settings,
        plain: false,
      },
      'odd.flags.shop.v1': {
        data: Buffer.from('x'),
        contentType: 'application/octet-stream',
        ...settings,
        plain: true,
      },
      'b64.blobs.shop.v1': {
        data: Buffer.from([0, 255, 10]),
        contentType: 'text/markdown',
        ...settings,
        plain: false,
      },
    });
  });

  it('tells every fault before anything is sent', () => {
    assert.equal(
      faultsOf({ 'flags/A.txt': '', 'flags/a.json': '' }),
      'flags/a.json and flags/A.txt are the same key a.flags.shop.v1',
    );
    assert.equal(
      faultsOf({ 'flags/a.txt': Buffer.alloc(LIMITS.recordData + 1) }),
      `flags/a.txt has ${LIMITS.recordData + 1} bytes, and a record at most ${LIMITS.recordData}`,
    );
    const settings = (key: string, own: unknown) =>
      JSON.stringify({ namespace: 'shop', settings: { [key]: own } });
    assert.equal(
      faultsOf({ 'a.txt': 'a\n', 'uqrp.json': settings('a.shop.v1', { plain: true }) }),
      'a.txt has octets that plain text cannot have',
    );
    for (const own of [null, 5, { plain: 1 }, { encoding: 'hex' }, { encoding: 'plain', plain: true }]) {
      assert.match(faultsOf({ 'uqrp.json': settings('a.shop.v1', own) }), /plain true or false/);
    }
    assert.equal(
      faultsOf({ 'a.txt': 'a\n', 'uqrp.json': settings('a.shop.v1', { encoding: 'plain' }) }),
      'a.txt has octets that plain text cannot have',
    );
    assert.match(faultsOf({ 'flags/a_b.txt': '' }), /^flags\/a_b\.txt: its key a_b\.flags\.shop\.v1 /);
    assert.match(faultsOf({ 'flags@2/a.txt': '' }), /^flags@2\/a\.txt: its key a\.flags\.shop\.2 /);
    assert.equal(faultsOf({ 'a/b/c.txt': '' }), 'a/b is no file');
    assert.equal(
      faultsOf({ 'x.txt': '' }, (dir) => symlinkSync('x.txt', join(dir, 'y.txt'))),
      'y.txt is a symbolic link',
    );
    assert.equal(
      faultsOf({ 'uqrp.json': '{"settings": {"a.shop.v1": {"ttl_seconds": -1}}, "more": 1}', 'a.txt': '' }),
      'uqrp.json: more is not a known field\nuqrp.json: settings of a.shop.v1 may have ttl_seconds, expires_in, plain true or false, and encoding "base64", "plain" or "b64"',
    );
    assert.equal(
      faultsOf({ 'uqrp.json': '{"settings": {"b.shop.v1": {}}}', 'a.txt': '' }),
      'uqrp.json has settings of b.shop.v1, which has no file',
    );
    assert.equal(faultsOf({ 'uqrp.json': 'x', 'a.txt': '' }), 'uqrp.json is not a JSON object');
    assert.equal(faultsOf({ 'uqrp.json/a.txt': '', 'a.txt': '' }), 'uqrp.json cannot be read: EISDIR');
    assert.equal(
      faultsOf({ 'a.txt': '' }, (dir) => symlinkSync('/nowhere', join(dir, 'uqrp.json'))),
      'uqrp.json is a symbolic link',
    );
    assert.throws(() => readDirectory('/nowhere/at/all', 'shop', 8), /cannot be read: ENOENT/);
    withFiles({ 'a.txt': '' }, (dir) =>
      assert.throws(() => readDirectory(dir, undefined, 8), /give --namespace/),
    );
  });
});

it('a directory has so many files at most', () => {
  const count = (files: number): string =>
    faultsOf({ 'a.txt': '' }, (dir) => {
      const file = fs.lstatSync(join(dir, 'a.txt'));
      const names = Array.from({ length: files }, (_, i) => `a b${i}.txt`);
      mock.method(fs, 'readdirSync', () => names);
      mock.method(fs, 'lstatSync', () => file);
      syncBuiltinESMExports();
    });
  try {
    assert.match(count(LIMITS.applyFiles), /^a b0\.txt: its key/);
    mock.restoreAll();
    assert.match(count(LIMITS.applyFiles + 1), /has more than 100000 files$/);
  } finally {
    mock.restoreAll();
    syncBuiltinESMExports();
  }
});
