import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { runShare, type ShareOutcome } from '../../scripts/test-process.ts';
import { sharesOf } from '../../scripts/test-shares.ts';

const FILES = ['test/e2e/b.test.ts', 'src/core/a.test.ts', 'sdk/c.test.ts', 'test/e2e/a.test.ts'];

describe('the shares of npm test', () => {
  it('hold every file once, in the same order whatever the order of the files', () => {
    const shares = sharesOf(FILES);
    assert.deepEqual(shares.flatMap(({ files }) => files).sort(), FILES.toSorted());
    assert.deepEqual(sharesOf(FILES.toReversed()), shares);
    assert.deepEqual(shares[0], { name: 'test/e2e', files: ['test/e2e/a.test.ts', 'test/e2e/b.test.ts'] });
  });

  it('cut a folder with many files into parts that differ by one file at most', () => {
    const many = Array.from({ length: 7 }, (_, i) => `src/core/${i}.test.ts`);
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
const LIMITS = { silentMs: 60_000, exitMs: 60_000 };

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
    const silent = { silentMs: 2_000, exitMs: 60_000 };
    const [early, still] = await Promise.all([
      run('early', "test('leaves', () => new Promise(() => setTimeout(() => process.exit(0), 200)));"),
      run('still', "test('waits', () => new Promise(() => setInterval(() => {}, 1e6)));", silent),
    ]);
    assert.equal(early.fault, 'ended before its last test with exit code 0, in: leaves');
    assert.match(still.fault ?? '', /^stood still for 2 s in: (waits|no test)$/);
  });

  it('that something keeps open after its last test is ended and told', async () => {
    const short = { silentMs: 60_000, exitMs: 1_000 };
    const outcome = await run('open', "test('good', () => { setInterval(() => {}, 1e6); });", short);
    assert.deepEqual([outcome.fault, outcome.lingered], [null, true]);
  });
});
