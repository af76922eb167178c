import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createSimulatedDisk } from '../../test/support/base/files/simulated-files.ts';
import {
  createFileSync,
  type Files,
  installFile,
  makeFolder,
  makeFolderSync,
  readIfThere,
  readParts,
  replaceFile,
  replaceFileSync,
  systemFiles,
} from './files.ts';

const onDisk = mkdtempSync(join(tmpdir(), 'uqrp-files-'));
after(() => rmSync(onDisk, { recursive: true, force: true }));

/** The simulated one is of use as far as it does what the machine does. */
const KINDS: readonly (readonly [name: string, files: Files, folder: string])[] = [
  ['the file system of the machine', systemFiles, onDisk],
  ['the simulated one', createSimulatedDisk({ random: () => 0.5, now: () => 1_000 }).files(), '/simulated'],
];

for (const [name, files, folder] of KINDS) {
  describe(name, () => {
    makeFolderSync(folder, 0o700, files);
    const at = (path: string): string => join(folder, path);
    const text = (path: string): string => files.read(at(path)).toString();

    it('writes at any place, reads it, and knows the size', () => {
      const file = files.open(at('a'), 'w+', 0o640);
      file.write(Buffer.from('abcdef'), 0);
      file.write(Buffer.from('XY'), 8);
      file.sync();
      const into = Buffer.alloc(4);
      assert.deepEqual([file.read(into, 4), into.toString('latin1')], [4, 'ef\0\0']);
      assert.deepEqual([file.read(into, 8), file.read(into, 10), file.size()], [2, 0, 10]);
      file.close();
      assert.throws(() => file.size(), { code: 'EBADF' });
      const { kind, octets, mode } = files.facts(at('a'))!;
      assert.deepEqual([kind, octets, mode], ['file', 10, 0o640]);
    });

    it('opens as it is told to', async () => {
      replaceFileSync(at('b'), 'old', 0o600, files);
      assert.throws(() => files.open(at('b'), 'wx'), { code: 'EEXIST' });
      await assert.rejects(files.async.open(at('b'), 'wx'), { code: 'EEXIST' });
      for (const flags of ['r', 'r+'] as const) {
        assert.throws(() => files.open(at('none'), flags), { code: 'ENOENT' });
      }
      const reader = files.open(at('b'), 'r');
      assert.throws(() => reader.write(Buffer.from('x'), 0), { code: 'EBADF' });
      reader.close();
      const end = files.open(at('b'), 'a');
      end.write(Buffer.from('er'), 0);
      end.close();
      assert.equal(text('b'), 'older');
      const change = files.open(at('b'), 'r+');
      change.write(Buffer.from('O'), 0);
      change.close();
      assert.equal(text('b'), 'Older');
      files.open(at('b'), 'w+').close();
      assert.equal(text('b'), '');
    });

    it('renames in place of another file, and knows which file is at a path', async () => {
      replaceFileSync(at('c'), 'one', 0o600, files);
      const { inode } = files.facts(at('c'))!;
      await replaceFile(at('c'), 'two', 0o600, files);
      assert.equal(text('c'), 'two');
      assert.notEqual(files.facts(at('c'))!.inode, inode);
      await files.async.rename(at('c'), at('d'));
      assert.deepEqual([await files.async.facts(at('c')), files.facts(at('c'))], [null, null]);
      assert.throws(() => files.rename(at('c'), at('d')), { code: 'ENOENT' });
      assert.throws(() => files.read(at('c')), { code: 'ENOENT' });
    });

    it('a file that is removed can be read by who has it open', () => {
      replaceFileSync(at('e'), 'open', 0o600, files);
      const file = files.open(at('e'), 'r');
      files.remove(at('e'));
      files.remove(at('e'));
      const into = Buffer.alloc(4);
      file.read(into, 0);
      assert.deepEqual([into.toString(), files.facts(at('e'))], ['open', null]);
      file.close();
    });

    it('has folders, which it lists and removes with what is in them', async () => {
      makeFolderSync(at('f/g/h'), 0o700, files);
      await makeFolder(at('f/g/h'), 0o700, files);
      replaceFileSync(at('f/g/x'), '', 0o600, files);
      assert.deepEqual(files.list(at('f/g')).toSorted(), ['h', 'x']);
      assert.throws(() => files.makeFolder(at('f/g'), 0o700), { code: 'EEXIST' });
      assert.throws(() => files.open(at('f/none/x'), 'w+'), { code: 'ENOENT' });
      assert.throws(() => files.read(at('f')), { code: 'EISDIR' });
      assert.throws(() => files.list(at('f/g/x')), { code: 'ENOTDIR' });
      assert.equal(files.facts(at('f'))!.kind, 'folder');
      files.remove(at('f'));
      assert.equal(files.facts(at('f')), null);
    });

    it('has modes, times and room', async () => {
      replaceFileSync(at('i'), 'x', 0o600, files);
      files.setMode(at('i'), 0o640);
      await files.async.setTime(at('i'), 2_000_000);
      const { mode, changedMs } = files.facts(at('i'), 'link')!;
      assert.deepEqual([mode, changedMs], [0o640, 2_000_000]);
      assert.ok(files.freeOctets(folder) > 0);
      assert.ok(Number.isNaN(files.freeOctets(at('none'))));
    });

    for (const [how, replace] of [
      ['replaceFile', replaceFile],
      ['replaceFileSync', async (...args: Parameters<typeof replaceFile>) => replaceFileSync(...args)],
    ] as const) {
      it(`${how} makes the file with its mode, replaces it, and leaves no draft, also when it fails`, async () => {
        makeFolderSync(at(`${how}/taken/inside`), 0o700, files);
        await replace(at(`${how}/a`), 'one', 0o600, files);
        await replace(at(`${how}/a`), 'two', 0o640, files);
        assert.deepEqual([text(`${how}/a`), files.facts(at(`${how}/a`))!.mode], ['two', 0o640]);
        await assert.rejects(replace(at(`${how}/taken`), 'x', 0o600, files));
        assert.deepEqual(files.list(at(how)).toSorted(), ['a', 'taken']);
      });
    }

    it('createFileSync: the first one wins, and all get its content', () => {
      assert.equal(createFileSync(at('k'), 'first', 0o600, files), 'first');
      assert.equal(createFileSync(at('k'), 'second', 0o600, files), 'first');
      assert.deepEqual([files.facts(at('k'))!.mode, readIfThere(at('k'), files)], [0o600, 'first']);
      assert.equal(readIfThere(at('l'), files), null);
      assert.throws(() => readIfThere(folder, files), { code: 'EISDIR' });
      assert.deepEqual(
        files.list(folder).filter((file) => file.startsWith('k')),
        ['k'],
      );
    });

    it('installFile puts a file in place of another one, with its time', async () => {
      replaceFileSync(at('incoming'), 'new', 0o600, files);
      await installFile(at('incoming'), at('m'), 5_000, files);
      assert.deepEqual([text('m'), files.facts(at('m'))!.changedMs], ['new', 5_000]);
      assert.equal(files.facts(at('incoming')), null);
    });

    it('readParts gives a file in parts, and closes it when nobody wants more', async () => {
      const content = Buffer.alloc(1_048_576 + 3, 'abcd');
      replaceFileSync(at('n'), content, 0o600, files);
      const parts: Uint8Array[] = [];
      for await (const part of readParts(at('n'), files)) parts.push(part);
      assert.deepEqual(
        parts.map(({ length }) => length),
        [1_048_576, 3],
      );
      assert.ok(Buffer.concat(parts).equals(content));
      for await (const part of readParts(at('n'), files)) if (part.length > 0) break;
    });
  });
}
