import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { CASES } from '../validators/cases.ts';

const ROOT = new URL('../../', import.meta.url);

it('docs/CONFORMANCE.md names tests that exist', () => {
  const text = readFileSync(new URL('docs/CONFORMANCE.md', ROOT), 'utf8');
  const paths = new Set([...text.matchAll(/`((?:src|test)\/[\w./-]+)`/g)].map(([, path]) => path!));
  assert.ok(paths.size > 30);
  const missing = [...paths].filter((path) => !existsSync(new URL(path, ROOT)));
  assert.deepEqual(missing, []);
  const rows = text.split('\n').filter((line) => /^\| \d{4}/.test(line));
  assert.ok(rows.length > 30);
  for (const row of rows) {
    const cells = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
    const [, rfc = '', what = '', test = '', left = ''] = cells;
    // An RFC that is implemented has a test; one that is not has a reason.
    assert.ok(what === '' || test.includes('`'), rfc);
    assert.ok(what !== '' || left !== '', rfc);
  }
  assert.ok(text.includes(`asks ${CASES.length} questions`), `${CASES.length} questions`);
});
