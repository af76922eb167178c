import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type Block, edited, GUIDES, guideOf } from './guides.ts';
import { textOf } from './named-tests.ts';

/** test/ci/contributing.ts follows the guides in a copy of the tree, which takes minutes. This compares them with the tree. */

const PAGE = textOf('CONTRIBUTING.md');
const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };

function exists(path: string): boolean {
  return existsSync(new URL(`../../${path}`, import.meta.url));
}

/** Fits the blocks to the tree, one after the other. @returns files as the guide leaves them, by path */
function follow(blocks: readonly Block[]): ReadonlyMap<string, string> {
  const written = new Map<string, string>();
  for (const block of blocks) {
    const { kind, file, text } = block;
    if (kind === 'ts') {
      assert.ok(!exists(file), `${file} exists already: the guide needs another example`);
      written.set(file, text);
    } else if (kind === 'diff') {
      written.set(file, edited(written.get(file) ?? textOf(file), block));
    }
  }
  return written;
}

describe('CONTRIBUTING.md', () => {
  for (const heading of GUIDES) {
    const blocks = guideOf(PAGE, heading);

    it(`"${heading.slice(3)}" fits the tree`, () => {
      const edits = blocks.filter(({ kind }) => kind === 'diff');
      const written = follow(blocks);
      assert.ok(edits.length > 0);
      for (const { file } of edits) assert.notEqual(written.get(file), textOf(file), file);
    });

    it(`"${heading.slice(3)}" runs scripts and tests that exist`, () => {
      const written = follow(blocks);
      const commands = blocks.filter(({ kind }) => kind === 'sh').map(({ text }) => text);
      const ran = [...commands.join('\n').matchAll(/npm run (\S+)/g)].map(([, name]) => name!);
      const tests = [...commands.join('\n').matchAll(/\S+\.test\.ts/g)].map(([path]) => path);
      assert.deepEqual(
        ran.filter((name) => !Object.hasOwn(scripts, name)),
        [],
      );
      assert.deepEqual(
        tests.filter((path) => !exists(path) && !written.has(path)),
        [],
      );
      assert.ok(ran.includes('check') && tests.length > 0, 'the guide ends with the check and its tests');
    });
  }

  const diff = (text: string): Block => ({ kind: 'diff', file: 'x.ts', text });

  it('with a context line that is gone, or an import that is there, fails', () => {
    const source = "import { a, type b } from './a.ts';\nlist(a);\n";
    assert.throws(() => edited(source, diff(' list(b);\n+more();\n')), /lacks: list\(b\);$/);
    assert.throws(() => edited(source, diff("-list(a);\n+import { b } from './b.ts';\n")), /imports b/);
    assert.equal(edited(source, diff('-list(a);\n+list(b);\n')), source.replace('list(a)', 'list(b)'));
    assert.equal(edited(source, diff(' list(a);\n+list(b);\n')), `${source.trimEnd()}\nlist(b);\n`);
  });
});
