import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { runShare, type ShareOutcome, sharesOf } from '../../scripts/test-shares.ts';

const FILES = ['test/e2e/b.test.ts', 'src/base/a.test.ts', 'sdk/c.test.ts', 'test/e2e/a.test.ts'];

describe('the shares of npm test', () => {
  it('hold every file once, in the same order whatever the order of the files', () => {
    const shares = sharesOf(FILES);
    assert.deepEqual(shares.flatMap(({ files }) => files).sort(), FILES.toSorted());
    assert.deepEqual(sharesOf(FILES.toReversed()), shares);
    assert.deepEqual(shares[0], { name: 'test/e2e', files: ['test/e2e/a.test.ts', 'test/e2e/b.test.ts'] });
  });

  it('cut a folder with many files into parts that differ by one file at most', () => {
    const many = Array.from({ length: 7 }, (_, i) => `src/base/${i}.test.ts`);
    const shares = sharesOf(many, 3);
    assert.deepEqual(
      shares.map(({ files }) => files.length),
      [3, 2, 2],
    );
    assert.deepEqual(shares.flatMap(({ files }) => files).sort(), many);
  });

  it('refuse a file in a folder that the table lacks', () => {
    assert.throws(() => sharesOf(['lib/a.test.ts']), /^Error: lib\/a\.test\.ts is in no folder/);
  });
});

const HEAD = "import { after, describe, test } from 'node:test';\n";
const COUNTED = `
  test('good', () => {});
  test('bad', () => { throw new Error('no'); });
  test('later', { skip: 'why' }, () => {});
  describe('suite', () => { after(() => { throw new Error('hook'); }); test('whole', () => {}); });`;
const outcomes = (events: ShareOutcome['events']) =>
  events.filter((event) => event.kind === 'end').map(({ test, outcome }) => [test, outcome]);
const LIMITS = { testMs: 60_000, silentMs: 60_000, exitMs: 60_000 };

describe('a share of npm test', { concurrency: true }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-shares-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (name: string, source: string, limits = LIMITS): Promise<ShareOutcome> => {
    const path = join(folder, `${name}.test.ts`);
    writeFileSync(path, HEAD + source);
    return runShare([path], limits);
  };

  it('tells what passed, failed and was skipped, and keeps the output', async () => {
    const { events, fault, lingered, output } = await run('counts', COUNTED);
    const ends = events.filter((event) => event.kind === 'end');
    assert.deepEqual({ fault, lingered }, { fault: null, lingered: false });
    assert.deepEqual(
      ends.map(({ test, outcome, reason }) => [test, outcome, reason]),
      [
        ['good', 'passed', ''],
        ['bad', 'failed', ''],
        ['later', 'skipped', 'why'],
        ['whole', 'passed', ''],
        ['suite', 'failed', ''],
      ],
    );
    assert.match(output, /✖ bad/);
  });

  it('fails when its process ends before the last test, or stands still, and names the test', async () => {
    const silent = { ...LIMITS, silentMs: 2_000 };
    const [early, still] = await Promise.all([
      run('early', "test('leaves', () => new Promise(() => setTimeout(() => process.exit(0), 200)));"),
      run('still', "test('waits', () => { for (;;); });", silent),
    ]);
    assert.equal(early.fault, 'ended before its last test with exit code 0, in: leaves');
    assert.match(still.fault ?? '', /^stood still for 2 s in: (waits|no test)$/);
  });

  it('ends a test that stands still by itself, names it, and runs the others (finding 11 of the review of the tests)', async () => {
    const source = `
  describe('suite', () => { test('before', () => {}); test('waits', () => new Promise(() => {})); test('behind', () => {}); });
  test('last', () => {});
  setTimeout(() => {}, 1500);`;
    const { events, fault } = await run('hangs', source, { ...LIMITS, testMs: 500 });
    assert.equal(fault, null);
    assert.deepEqual(outcomes(events), [
      ['before', 'passed'],
      ['waits', 'stood still'],
      ['behind', 'passed'],
      ['suite', 'suite'],
      ['last', 'passed'],
    ]);
  });

  it('that is silent for too long is killed, and the tests behind do not count as failed', async () => {
    const source = `
  test('good', () => {});
  test('hook', { timeout: 1e6 }, () => new Promise(() => setInterval(() => {}, 1e6)));
  test('behind', () => {}); test('last', () => {});`;
    // On a busy machine the process may take longer than that to its first test.
    for (let silent = 2; ; silent *= 2) {
      const { events, fault } = await run('never', source, { ...LIMITS, silentMs: silent * 1_000 });
      if (fault === `stood still for ${silent} s in: no test` && silent < 60) continue;
      assert.equal(fault, `stood still for ${silent} s in: hook`);
      assert.deepEqual(outcomes(events), [
        ['good', 'passed'],
        ['hook', 'stood still'],
        ['behind', 'not run'],
        ['last', 'not run'],
      ]);
      return;
    }
  });

  it('gives every property the seed of the run', async () => {
    const source = `import fc from '${import.meta.resolve('fast-check')}';
  test('seed', () => { if (fc.readConfigureGlobal().seed !== Number(process.env.TEST_SEED)) throw new Error('no'); });`;
    process.env.TEST_SEED ??= '7';
    assert.deepEqual(outcomes((await run('seed', source)).events), [['seed', 'passed']]);
  });

  it('that something keeps open after its last test is ended and told', async () => {
    const short = { ...LIMITS, exitMs: 1_000 };
    const outcome = await run('open', "test('good', () => { setInterval(() => {}, 1e6); });", short);
    assert.deepEqual([outcome.fault, outcome.lingered], [null, true]);
  });
});
