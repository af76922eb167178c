import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { replaceFile, replaceFileSync } from './files.ts';

const FORMS = [
  ['replaceFile', replaceFile],
  ['replaceFileSync', async (...args: Parameters<typeof replaceFile>) => replaceFileSync(...args)],
] as const;

for (const [name, replace] of FORMS) {
  describe(name, () => {
    const folder = mkdtempSync(join(tmpdir(), 'uqrp-files-'));
    after(() => rmSync(folder, { recursive: true, force: true }));

    it('makes the file with its mode, replaces it, and leaves no draft', async () => {
      const path = join(folder, 'a');
      await replace(path, 'one', 0o600);
      await replace(path, 'two', 0o600);
      assert.equal(readFileSync(path, 'utf8'), 'two');
      assert.equal(statSync(path).mode & 0o777, 0o600);
      assert.deepEqual(readdirSync(folder), ['a']);
    });

    it('that fails leaves what was there, and no draft', async () => {
      mkdirSync(join(folder, 'taken', 'inside'), { recursive: true });
      await assert.rejects(replace(join(folder, 'taken'), 'x', 0o600));
      assert.deepEqual(readdirSync(folder).toSorted(), ['a', 'taken']);
    });
  });
}
