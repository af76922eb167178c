import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { requirePrograms } from '../../test/support/process.ts';
import { print } from './figures.ts';
import type { Part, Row } from './part.ts';
import { openWorld, type RunOptions } from './world.ts';

const PROGRAMS = {
  named: 'bind9',
  nsd: 'nsd',
  knotd: 'knot',
  pdns_server: 'pdns-server pdns-backend-lmdb',
  dnsperf: 'dnsperf',
  h2load: 'nghttp2-client',
  dig: 'bind9-dnsutils',
};

/** Runs the parts one after the other. @param keep is called with the rows of each part: a run that is interrupted keeps them */
export async function runParts(
  parts: readonly Part[],
  options: RunOptions,
  keep: (rows: readonly Row[]) => unknown = () => {},
): Promise<readonly Row[]> {
  requirePrograms(PROGRAMS);
  const others = options.against === null ? '' : `, against ${options.against}`;
  print(`${options.rounds} rounds of ${options.seconds} s, one worker each${others}`);
  const world = openWorld(options);
  const rows: Row[] = [];
  try {
    for (const part of parts) {
      const own = await part.run(world);
      keep(own);
      rows.push(...own);
    }
  } finally {
    await world.remove();
  }
  return rows;
}

/** Puts rows into a file of rows, in the place of older ones of the same parts. @returns all rows of the file */
export function saveRows(file: string, rows: readonly Row[]): readonly Row[] {
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Row[]) : [];
  const parts = new Set(rows.map(({ part }) => part));
  const all = [...before.filter(({ part }) => !parts.has(part)), ...rows];
  writeFileSync(file, JSON.stringify(all));
  return all;
}

const figure = (value: number): string => value.toPrecision(3);

/** The table in Markdown. */
export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ what, peer, micros, peerMicros, ratio, target, hits, generator }) => {
    const range = `${ratio.middle.toFixed(2)} (${ratio.least.toFixed(2)} to ${ratio.most.toFixed(2)})`;
    const outcome = target === null ? '' : ratio.middle <= target ? 'met' : '**missed**';
    const cells = [
      what,
      `${figure(micros)} us`,
      `${peer} ${figure(peerMicros)} us`,
      range,
      target === null ? '' : `<= ${target}`,
      outcome,
      hits === null ? '' : `${(hits * 100).toFixed(1)} %`,
      `${Math.round(generator * 100)} %`,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const head =
    '| what | CPU a query | compared with | ratio (least to most) | target | | cache hits | load generator |';
  return [head, '|---|---|---|---|---|---|---|---|', ...lines].join('\n');
}
