import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { documents, textOf } from '../../scripts/docs.ts';

describe('what documents print of the code', async () => {
  for (const [path, text] of await documents()) {
    it(`is up to date in ${path}`, () => {
      assert.ok(textOf(path) === text, `${path} differs from the code: run \`npm run docs\``);
    });
  }

  it('says of each limit what it means', () => {
    const [, limits = ''] = textOf('docs/operations/limits.md').split('<!-- limits -->');
    assert.deepEqual(limits.match(/^\| \w+ \| [\d,]+ \|\s*\|$/gm) ?? [], []);
  });
});
