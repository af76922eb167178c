import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

const ROOT = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/ARCHITECTURE.md', ROOT), 'utf8');
const walks = page.slice(page.indexOf('## One packet'), page.indexOf('## The central types'));

/** `name` (`path`), where a line may end between the two. */
const NAMED = /`(\w+)`\s+\(`((?:src|sdk)\/[\w./-]+\.ts)`\)/g;
const PATHS = /`((?:src|sdk|test)\/[\w./-]+)`/g;

describe('docs/ARCHITECTURE.md', () => {
  it('names, in its walks, functions that are in the files behind them', () => {
    const named = [...walks.matchAll(NAMED)].map(([, name, path]) => ({ name: name!, path: path! }));
    assert.ok(named.length >= 25, `only ${named.length} functions named`);
    const missing = named.filter(({ name, path }) => {
      const url = new URL(path, ROOT);
      return !existsSync(url) || !declares(readFileSync(url, 'utf8'), name);
    });
    assert.deepEqual(missing, []);
  });

  it('names paths that exist', () => {
    const missing = [...page.matchAll(PATHS)]
      .map(([, path]) => path!)
      .filter((path) => !existsSync(new URL(path, ROOT)));
    assert.deepEqual(missing, []);
  });
});

/** A function, a method, or a constant that holds a function. Comments are not searched. */
function declares(source: string, name: string): boolean {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  return new RegExp(`(?:function\\*? |const |^ {2,4}(?:async )?)${name}(?:<[^(]*>)?(?:\\(| =)`, 'm').test(
    code,
  );
}
