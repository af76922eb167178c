import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { removeFeedNode } from './feed-folder.ts';

it('a file of the folder that cannot be read is named with the code of the system and what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-feed-folder-'));
  const file = join(folder, 'nodes.json');
  const message = (code: string): string =>
    `${file} cannot be read (${code}): run uqrp feed init first, or give its folder with --feed`;
  try {
    assert.throws(() => removeFeedNode('fra1', folder), { name: 'InputError', message: message('ENOENT') });
    mkdirSync(file);
    assert.throws(() => removeFeedNode('fra1', folder), { name: 'InputError', message: message('EISDIR') });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
