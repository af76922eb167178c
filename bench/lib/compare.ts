import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cpuSeconds } from '../../test/support/process.ts';
import { median, print, row } from './figures.ts';

export interface Target {
  readonly name: string;
  readonly port: number;
  /** Process id. CPU of its children counts too: NSD answers from a child process. */
  readonly pid: number;
}

export interface Load {
  readonly answered: number;
  readonly seconds: number;
}

export interface CompareOptions {
  readonly what: string;
  readonly rounds: number;
  readonly load: (target: Target) => Load;
}

/** Median CPU microseconds per answered query by target. The order is reversed every round, after one warm-up. */
export function compare(
  targets: readonly Target[],
  { what, rounds, load }: CompareOptions,
): Map<string, number> {
  const micros = new Map<string, number[]>(targets.map(({ name }) => [name, []]));
  const rates = new Map<string, number[]>(targets.map(({ name }) => [name, []]));
  for (const target of targets) load(target);
  for (let round = 0; round < rounds; round++) {
    for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
      const before = cpuOf(target);
      const { answered, seconds } = load(target);
      micros.get(target.name)!.push(((cpuOf(target) - before) / answered) * 1e6);
      rates.get(target.name)!.push(answered / seconds);
    }
  }
  print('');
  print(row([what, 'CPU us/query', 'least', 'most', 'queries/s']));
  for (const { name } of targets) {
    const all = micros.get(name)!;
    print(
      row([
        name,
        median(all),
        Math.min(...all),
        Math.max(...all),
        String(Math.round(median(rates.get(name)!))),
      ]),
    );
  }
  return new Map([...micros].map(([name, all]) => [name, median(all)]));
}

/** `dnsperf` over a file of questions: one thread, eight clients. */
export function dnsperf(target: Target, file: string, args: readonly string[]): Load {
  const text = execFileSync(
    'dnsperf',
    ['-s', '127.0.0.1', '-p', String(target.port), '-d', file, '-c', '8', '-T', '1', '-q', '200', ...args],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const number = (pattern: RegExp): number => Number(pattern.exec(text)?.[1]);
  return { answered: number(/Queries completed:\s+(\d+)/), seconds: number(/Run time \(s\):\s+([\d.]+)/) };
}

export async function waitFor(target: Target, name: string): Promise<void> {
  const args = ['@127.0.0.1', '-p', String(target.port), '+short', '+tries=1', '+time=1', 'TXT', name];
  for (let attempt = 0; attempt < 60; attempt++) {
    try {
      if (execFileSync('dig', args, { encoding: 'utf8' }).includes('v=svc1')) return;
    } catch {
      // The server does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${target.name} does not answer`);
}

function cpuOf({ pid }: Target): number {
  return family(pid).reduce((sum, one) => sum + cpuSeconds(one), 0);
}

function family(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => parentOf(child) === pid);
  return [pid, ...children.flatMap(family)];
}

function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return -1;
  }
}
