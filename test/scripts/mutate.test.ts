import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, describe, it } from 'node:test';
import { EQUIVALENTS } from '../../scripts/mutate-equivalents.ts';
import { mutationsOf } from '../../scripts/mutate-kinds.ts';
import { planted, plantedEnvironment } from '../../scripts/plant.ts';

const SOURCE = `
export async function save(a: number, b: number): Promise<void> {
  if (a < 0) throw new Error('no');
  await file.write(a, b);
  await file.sync();
  last = a * HOUR_MS;
  return rows.filter((row) => row.id === a && !row.gone);
}
const SQL = 'delete from t where id = :id and until <= :now';
`;

describe('faults that a person might make', () => {
  const seen = mutationsOf('x.ts', SOURCE).map(({ kind, from, to }) => `${kind}: ${from} -> ${to}`);
  for (const one of [
    'off by one: < -> <=',
    "removed check: if (a < 0) throw new Error('no'); -> ",
    'swapped condition: a < 0 -> !(a < 0)',
    'swapped arguments: a, b -> b, a',
    'dropped await: await file.write(a, b); -> void (file.write(a, b));',
    'removed sync: await file.sync(); -> ',
    'order of two statements: await file.write(a, b);\n  await file.sync(); -> await file.sync();\nawait file.write(a, b);',
    'removed assignment: last = a * HOUR_MS; -> ',
    'wrong unit: a * HOUR_MS -> a',
    'removed filter: rows.filter((row) => row.id === a && !row.gone) -> rows',
    'removed check: row.id === a && !row.gone -> row.id === a',
    'swapped condition: !row.gone -> row.gone',
    'removed filter: and until <= :now -> ',
  ])
    it(JSON.stringify(one), () => assert.ok(seen.includes(one), seen.join('\n')));

  it('stand where they say', () => {
    for (const { at, from } of mutationsOf('x.ts', SOURCE)) assert.ok(SOURCE.startsWith(from, at), from);
  });

  it('that change nothing are named by lines that are there', () => {
    for (const { file, text } of EQUIVALENTS)
      assert.ok(
        readFileSync(file, 'utf8')
          .split('\n')
          .some((line) => line.trim().startsWith(text)),
        `${file}: ${text}`,
      );
  });
});

describe('a planted fault', () => {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-plant-'));
  after(() => rmSync(folder, { recursive: true }));

  it('is in the file as Node loads it, in the process and in its threads, and not on the disk', () => {
    const path = join(folder, 'sum.ts');
    writeFileSync(path, 'export const sum = (a: number, b: number): number => a + b;\n');
    const main = `const { sum } = await import(${JSON.stringify(path)}); console.log(sum(5, 3));
      const { Worker, isMainThread } = await import('node:worker_threads');
      if (isMainThread) new Worker(process.argv[1]);`;
    writeFileSync(join(folder, 'main.mjs'), main);
    const file = relative(process.cwd(), path);
    const env = { ...process.env, ...plantedEnvironment({ file, from: 'a + b', to: 'a - b' }) };
    const run = spawnSync(process.execPath, [join(folder, 'main.mjs')], { env, encoding: 'utf8' });
    assert.equal(run.stdout, '2\n2\n', run.stderr);
    assert.match(readFileSync(path, 'utf8'), /a \+ b/);
  });

  it('whose text is not there, or there twice, is an error', () => {
    const text = { file: 'x.ts', from: 'b', to: 'c' };
    assert.equal(planted(text, 'abd'), 'acd');
    assert.throws(() => planted(text, 'ad'), /x\.ts does not hold: b/);
    assert.throws(() => planted(text, 'bab'), /x\.ts holds 2 times: b/);
    assert.equal(planted({ ...text, at: 2 }, 'bab'), 'bac');
    assert.throws(() => planted({ ...text, at: 1 }, 'bab'), /does not hold/);
  });
});
