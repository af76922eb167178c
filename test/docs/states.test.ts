import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertNamedTestsExist, filledCells, holdsTitle, namedTests, textOf } from './named-tests.ts';

const COLUMNS = 5;

describe('docs/STATES.md', () => {
  const rows = textOf('docs/STATES.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (?:State|Transition) \|/.test(line));

  it('names files that exist and tests that are in them', () => {
    assert.ok(rows.length > 25);
    assertNamedTestsExist(rows);
  });

  it('has a test or a reason in every cell, and a test in every row', () => {
    for (const row of rows) {
      filledCells(row, COLUMNS);
      assert.ok(namedTests(row).length > 0, row);
    }
  });

  it('has a row for each state and transition that the service goes through', () => {
    const states = rows.map((row) => row.split('|')[1]!.trim());
    for (const words of [
      'Serving',
      'Other signing keys',
      'Another database of addresses',
      'Another certificate',
      'A DNS worker ends',
      'Database lost and back',
      'View lost',
      'Rebuild',
      'Restore',
      'Clock step',
      'Disk full',
      'Broker lost and back',
      'The control process that publishes',
      'A node starts with everything else dead',
      'A node begins with nothing',
      '`uqrp feed erase`',
      'A restored database',
      'A step of a rollover, over the feed',
      'Start',
      'Stop',
    ]) {
      assert.ok(
        states.some((state) => state.startsWith(words)),
        words,
      );
    }
  });
});

describe('the check of test names', () => {
  it('finds a title that is the whole text of a string, with gaps where the test fills something in', () => {
    const source = `it('begins', run);\ntest(\`ends with \${code}, at once\`, run);\nit('it\\'s', run);`;
    assert.ok(holdsTitle(source, 'begins'));
    assert.ok(holdsTitle(source, 'ends with ..., at once'));
    assert.ok(holdsTitle(source, "it's"));
    for (const title of ['begin', 'egins', 'ends with ...', 'ends with 1, at once', 'begins ... at once']) {
      assert.equal(holdsTitle(source, title), false, title);
    }
  });

  it('gives a title to the path before it, and refuses one without', () => {
    const found = namedTests('`src/a.test.ts` "one", "two"; `test/b.ts` "three"');
    assert.deepEqual(
      found.map(({ path, title }) => `${path} ${title}`),
      ['src/a.test.ts one', 'src/a.test.ts two', 'test/b.ts three'],
    );
    assert.throws(() => namedTests('"one"'), /no file before/);
  });
});
