import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ConfigError } from './config.ts';
import { deriveKey, loadSecret } from './data-dir.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'uqrp-secrets-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

describe('loadSecret', () => {
  it('makes one secret, for its owner alone, and keeps it', () => {
    const inner = join(dataDir, 'new', 'data');
    const first = loadSecret(inner, null);
    assert.equal(first.length, 64);
    assert.equal(statSync(join(inner, 'secret')).mode & 0o777, 0o600);
    assert.equal(statSync(inner).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(inner), ['secret']);
    assert.deepEqual(loadSecret(inner, null), first);
  });

  it('takes the one of the environment and then touches no file', () => {
    const given = 'a secret of an operator, long enough';
    assert.equal(Buffer.from(loadSecret(dataDir, given)).toString(), given);
    assert.equal(existsSync(join(dataDir, 'secret')), false);
  });

  it('derives the same keys from the file and from a copy of it in the environment', () => {
    const made = loadSecret(dataDir, null);
    const copied = loadSecret(dataDir, readFileSync(join(dataDir, 'secret'), 'utf8').trim());
    assert.deepEqual(deriveKey(made, 'jwt', 32), deriveKey(copied, 'jwt', 32));
  });

  for (const content of ['', 'short', 'g'.repeat(64), `${'a'.repeat(64)}\n\n`]) {
    it(`refuses a file of ${JSON.stringify(content.slice(0, 8))}`, () => {
      writeFileSync(join(dataDir, 'secret'), content);
      assert.throws(() => loadSecret(dataDir, null), ConfigError);
    });
  }

  it('gives processes that start together the same secret', async () => {
    const module = new URL('./data-dir.ts', import.meta.url).href;
    const script = `import { loadSecret } from ${JSON.stringify(module)};
      process.stdout.write(loadSecret(${JSON.stringify(dataDir)}, null));`;
    const children = Array.from({ length: 3 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', script]),
    );
    const told = await Promise.all(
      children.map(async (child) => {
        const chunks: Buffer[] = [];
        child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
        const [code] = await once(child, 'close');
        assert.equal(code, 0);
        return Buffer.concat(chunks).toString();
      }),
    );
    assert.equal(new Set(told).size, 1);
    assert.match(told[0]!, /^[0-9a-f]{64}$/);
  });
});

describe('deriveKey', () => {
  it('depends on secret, label and nothing else', () => {
    const secret = Buffer.from('s'.repeat(32));
    const key = deriveKey(secret, 'jwt', 32);
    assert.equal(key.length, 32);
    assert.deepEqual(deriveKey(secret, 'jwt', 32), key);
    assert.notDeepEqual(deriveKey(secret, 'cursor', 32), key);
    assert.notDeepEqual(deriveKey(Buffer.from('t'.repeat(32)), 'jwt', 32), key);
    // Pinned: keys of stored data must not change with a version.
    assert.equal(key.toString('hex'), '1daa8576b33a6167865ce250965d189d00316dd2046ed1a6c2b74a72c11caba6');
  });
});
