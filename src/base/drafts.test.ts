import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hookedFiles } from '../../test/support/base/files/hooked-files.ts';
import { createSimulatedDisk } from '../../test/support/base/files/simulated-files.ts';
import { removeDrafts } from './drafts.ts';
import { createFileSync, type Files, makeFolderSync, replaceFileSync, systemFiles } from './files.ts';

const MINUTE_MS = 60_000;
const CHANGES = new Set(['open', 'write', 'sync', 'close', 'rename', 'link', 'remove', 'syncFolder']);

/** The calls that make a file, of a process that is killed at the `at`-th change. @returns whether it was */
function killed(at: number, files: Files, make: (files: Files) => void): boolean {
  let changes = 0;
  const dying = hookedFiles(files, ({ call }) => {
    if (!CHANGES.has(call)) return undefined;
    changes += 1;
    // It does not clean up either.
    if (changes >= at) throw new Error('killed');
    return undefined;
  });
  try {
    make(dying);
    return false;
  } catch (error) {
    assert.match(String(error), /killed/);
    return true;
  }
}

describe('drafts of a process that was killed', () => {
  const MAKES: Readonly<Record<string, (files: Files) => void>> = {
    'a file that is made once': (files) => void createFileSync('/data/secret', 'new', 0o600, files),
    'a file that is replaced': (files) => replaceFileSync('/data/keys/zone.json', 'new', 0o600, files),
  };
  for (const [what, make] of Object.entries(MAKES)) {
    it(`of ${what} are gone at a start more than a minute later (secrets and keys stayed for ever)`, () => {
      let left = 0;
      for (let at = 1, isOver = false; !isOver; at++) {
        const disk = createSimulatedDisk({ random: () => 0.5, now: () => 0 });
        const files = disk.files();
        makeFolderSync('/data/keys', 0o700, files);
        replaceFileSync('/data/keys/zone.json', 'old', 0o600, files);
        isOver = !killed(at, files, make);
        const all = (): string[] => [...files.list('/data'), ...files.list('/data/keys')].toSorted();
        const before = all();
        removeDrafts('/data', MINUTE_MS, files);
        assert.deepEqual(all(), before, 'a minute later it may be in use still');
        removeDrafts('/data', MINUTE_MS + 1, files);
        const kept = all().filter((name) => name !== 'secret');
        assert.deepEqual(kept, ['keys', 'zone.json'], `killed at ${at}`);
        assert.match(files.read('/data/keys/zone.json').toString(), /^(?:old|new)$/);
        if (before.includes('secret')) assert.equal(files.read('/data/secret').toString(), 'new');
        left += before.length - all().length;
      }
      assert.ok(left >= 3, 'a kill leaves some');
    });
  }

  it('are told apart from what an operator put there, and from links', () => {
    const draft = systemFiles.draftOf('/data/secret').slice('/data/'.length);
    const removed = [draft, 'witness.db.draft-abcdef012345-journal'];
    const kept = [
      'uqrp.sqlite.202611291352',
      'secret.0123456789ab',
      'secret.draft-1',
      'secret.draft-0123456789abc',
      'secret.draft-0123456789AB',
      'secret.draft-0123456789ab.old',
      '.draft-0123456789ab',
      'draft-0123456789ab',
    ];
    const disk = createSimulatedDisk({ random: () => 0.5, now: () => 0 }).files();
    makeFolderSync('/data', 0o700, disk);
    for (const name of [...removed, ...kept]) replaceFileSync(`/data/${name}`, '', 0o600, disk);
    makeFolderSync('/data/evidence.draft-0123456789ab/part', 0o700, disk);
    removeDrafts('/data', MINUTE_MS + 1, disk);
    assert.deepEqual(disk.list('/data').toSorted(), kept.toSorted());
    const links: Files = { ...disk, facts: (path) => ({ ...disk.facts(path)!, kind: 'link' }) };
    replaceFileSync('/data/a.draft-0123456789ab', '', 0o600, disk);
    removeDrafts('/data', MINUTE_MS + 1, links);
    assert.ok(disk.list('/data').includes('a.draft-0123456789ab'));
  });

  it('in a folder that cannot be read keep nobody from starting', () => {
    const disk = createSimulatedDisk({ random: () => 0.5, now: () => 0 }).files();
    for (const folder of ['a', 'lost+found', 'z']) {
      makeFolderSync(`/data/${folder}`, 0o700, disk);
      replaceFileSync(`/data/${folder}/key.draft-0123456789ab`, '', 0o600, disk);
    }
    const files = hookedFiles(disk, ({ call, paths }) => {
      if (call === 'list' && paths[0] === '/data/lost+found')
        throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
      return undefined;
    });
    removeDrafts('/data', MINUTE_MS + 1, files);
    assert.deepEqual(
      ['a', 'lost+found', 'z'].map((folder) => disk.list(`/data/${folder}`).length),
      [0, 1, 0],
    );
    removeDrafts('/none', MINUTE_MS + 1, files);
  });
});
