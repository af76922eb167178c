import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { keyTxt } from '../../src/protocol/datasets/attestation.ts';
import { readItem } from '../../src/protocol/datasets/item.ts';

const ROOT = new URL('../../', import.meta.url);
const VECTORS = new URL('test/fixtures/attest/', ROOT);
const PLAIN = new URL('plain/', VECTORS);
const PUBLIC_KEY = Buffer.from(
  JSON.parse(readFileSync(new URL('key.json', VECTORS), 'utf8')).public,
  'base64',
);
const page = readFileSync(new URL('docs/DATASETS.md', ROOT), 'utf8');
const blocks = [...page.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(([, block]) => block!);

/** The only block of the page that begins so, without its last line feed. */
function blockOf(start: string): string {
  const found = blocks.filter((block) => block.startsWith(start));
  assert.equal(found.length, 1, start);
  return found[0]!.trimEnd();
}

/** Which tool of the commands this machine lacks, or false. */
function toolMissing(): string | false {
  for (const tool of ['sh', 'sha256sum', 'base64', 'openssl']) {
    if (spawnSync(tool, ['--help']).error !== undefined) return `there is no ${tool}`;
  }
  const { stdout, stderr } = spawnSync('openssl', ['pkeyutl', '-help'], { encoding: 'utf8' });
  return `${stdout}${stderr}`.includes('-rawin') ? false : 'this openssl has no pkeyutl -rawin';
}

describe('docs/DATASETS.md', () => {
  it('shows the manifest and the signed text of a test vector', () => {
    const manifest = JSON.parse(readFileSync(new URL('manifest.json', PLAIN), 'utf8'));
    assert.deepEqual(JSON.parse(blockOf('{\n')), manifest);
    assert.equal(blockOf('svc-attest.v1\n'), readFileSync(new URL('canonical.bin', PLAIN), 'utf8'));
  });

  it('shows lines of an items file that are read', () => {
    const lines = blockOf('{"k"').split('\n');
    assert.equal(lines.length, 2);
    for (const line of lines) assert.equal(typeof readItem(JSON.parse(line), 'gtin-demo'), 'object', line);
  });

  for (const name of ['plain', 'normal-form', 'bounds']) {
    it(`shows commands that verify the test vector ${name}, and no other items`, {
      skip: toolMissing(),
    }, () => {
      const folder = mkdtempSync(join(tmpdir(), 'uqrp-docs-'));
      const vector = (file: string) => readFileSync(new URL(`${name}/${file}`, VECTORS));
      const items = join(folder, 'items.jsonl');
      const run = () => spawnSync('sh', ['-euc', blockOf('field() {')], { cwd: folder, encoding: 'utf8' });
      try {
        writeFileSync(items, vector('items.jsonl'));
        writeFileSync(join(folder, 'manifest.txt'), vector('txt.bin'));
        writeFileSync(join(folder, 'key.txt'), `${keyTxt({ publicKey: PUBLIC_KEY, since: 1, end: 2 })}\n`);
        const good = run();
        assert.deepEqual([good.status, good.stdout], [0, `${blockOf('Signature')}\n`], good.stderr);
        assert.deepEqual(readFileSync(join(folder, 'canonical.bin')), vector('canonical.bin'));
        writeFileSync(items, `${readFileSync(items, 'utf8')}\n`);
        assert.notEqual(run().status, 0);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }
});
