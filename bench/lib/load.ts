import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Load {
  readonly answered: number;
  readonly lost: number;
  readonly seconds: number;
}

/**
 * `dnsperf` over a file of questions: one thread, ten clients, 200 queries under way. Later arguments win.
 *
 * @param where address of the server, and a command in front that runs another one, such as `nsenter`
 */
export function dnsperf(
  port: number,
  file: string,
  args: readonly string[],
  where: { readonly address: string; readonly inside: readonly string[] } = {
    address: '127.0.0.1',
    inside: [],
  },
): Load {
  const [command, ...all] = [
    ...where.inside,
    'dnsperf',
    '-s',
    where.address,
    '-p',
    String(port),
    '-d',
    file,
    '-c',
    '10',
    '-T',
    '1',
    '-q',
    '200',
    ...args,
  ];
  const text = execFileSync(command!, all, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const number = (pattern: RegExp): number => Number(pattern.exec(text)?.[1]);
  return {
    answered: number(/Queries completed:\s+(\d+)/),
    lost: number(/Queries lost:\s+(\d+)/),
    seconds: number(/Run time \(s\):\s+([\d.]+)/),
  };
}

/** Passes over a file after which each name is in the packet caches of one or two workers: a cache takes a name when it sees it again. */
const PRIMING_PASSES = '10';

/** Asks every name of a file ten times. */
export function prime(port: number, file: string, args: readonly string[]): void {
  dnsperf(port, file, [...args, '-n', PRIMING_PASSES]);
}

/**
 * `h2load`: ten connections that each POST one question over and over for a time.
 *
 * @param body file with the DNS message
 * @param streams requests under way on each connection
 */
export function h2load(port: number, body: string, streams: number, seconds: number): Load {
  const header = 'content-type: application/dns-message';
  const url = `https://127.0.0.1:${port}/dns-query`;
  const args = [
    '-c',
    '10',
    '-m',
    String(streams),
    '-t',
    '1',
    '-D',
    String(seconds),
    '-H',
    header,
    '-d',
    body,
    url,
  ];
  const text = execFileSync('h2load', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const number = (pattern: RegExp): number => Number(pattern.exec(text)?.[1]);
  return { answered: number(/(\d+) succeeded/), lost: number(/(\d+) failed/), seconds };
}

/** Compiles a program of this folder. @param into a folder @returns its path */
export function compiled(name: string, into: string): string {
  const program = join(into, name);
  execFileSync('cc', ['-O2', '-o', program, fileURLToPath(new URL(`${name}.c`, import.meta.url))]);
  return program;
}
