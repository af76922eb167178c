import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { buildOf, programVersion, releaseVersion } from './version.ts';

const COMMIT = '3ad8411f00000000000000000000000000000000';
const OTHER = 'c3cb915f00000000000000000000000000000000';

function folderOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'uqrp-version-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

describe('the version tells two builds of one release apart (operator finding 13)', () => {
  it('by the commit of the checkout: of a branch, packed, of none, or of a second worktree', (t) => {
    const head = { '.git/HEAD': 'ref: refs/heads/main\n' };
    const packed = `# pack-refs with: peeled\n${OTHER} refs/heads/old\n${COMMIT} refs/heads/main\n`;
    const folders: readonly Readonly<Record<string, string>>[] = [
      { ...head, '.git/refs/heads/main': `${COMMIT}\n`, '.git/packed-refs': `${OTHER} refs/heads/main\n` },
      { ...head, '.git/packed-refs': packed },
      { '.git/HEAD': `${COMMIT}\n` },
      {
        '.git': 'gitdir: main/.git/worktrees/two\n',
        'main/.git/worktrees/two/HEAD': 'ref: refs/heads/two\n',
        'main/.git/worktrees/two/commondir': '../..\n',
        'main/.git/refs/heads/two': `${COMMIT}\n`,
      },
    ];
    for (const files of folders) assert.equal(buildOf(folderOf(t, files)), 'g3ad8411', JSON.stringify(files));
  });

  it('and is the release alone without a commit', (t) => {
    const none: readonly Readonly<Record<string, string>>[] = [
      { 'package.json': '{}' },
      { '.git/HEAD': 'ref: refs/heads/main\n' },
      { '.git/HEAD': 'ref: ../../../etc/passwd\n' },
      { '.git': 'gitdir: /nonexistent\n' },
      { '.git/HEAD': 'not a commit' },
    ];
    for (const files of none) assert.equal(buildOf(folderOf(t, files)), null, JSON.stringify(files));
    assert.match(releaseVersion(), /^\d+\.\d+\.\d+$/);
    assert.ok(programVersion() === releaseVersion() || programVersion().startsWith(`${releaseVersion()}+g`));
  });
});
