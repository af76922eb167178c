import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertNamedTestsExist, filledCells, namedTests, textOf } from './named-tests.ts';

const COLUMNS = 3;

describe('docs/ATTACKS.md', () => {
  const rows = textOf('docs/ATTACKS.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| attack |'));

  it('names files that exist and tests that are in them', () => {
    assert.ok(rows.length > 20);
    assertNamedTestsExist(rows);
  });

  it('says in every row what stops the attack, and which test tries it', () => {
    for (const row of rows) {
      const cells = filledCells(row, COLUMNS);
      assert.ok(namedTests(row).length > 0 || /the same tests?$/.test(cells[2]!), row);
    }
  });
});
