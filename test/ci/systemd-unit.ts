/**
 * Runs the server and the nightly backup of deploy/systemd as an unprivileged user under strace, without systemd, and compares what they
 * do with what the units allow: system calls, address families, and files that are written. Exit code 1 when a unit would forbid some of it.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { deployText, shellLine, unitValues } from '../support/deploy/unit-file.ts';
import { requirePrograms } from '../support/process.ts';
import { nodeOptions } from '../support/server-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CLI = join(ROOT, 'src/cli.ts');
/** The user and group nobody: as root, SQLite would make calls that a service never makes. */
const NOBODY = 65_534;
const LIMIT_MS = 120_000;
const DAY_MS = 86_400_000;
const groups = new Map<string, readonly string[]>();

interface Trace {
  readonly calls: ReadonlySet<string>;
  readonly families: ReadonlySet<string>;
  /** Absolute paths of files and folders that were opened for writing, made, renamed or removed. */
  readonly written: ReadonlySet<string>;
}

requirePrograms({ strace: 'strace', 'systemd-analyze': 'systemd', dig: 'bind9-dnsutils' });
const folder = mkdtempSync(join(tmpdir(), 'uqrp-unit-'));
chmodSync(folder, 0o755);
const data = join(folder, 'data');
const backups = join(folder, 'backups');
try {
  process.exitCode = await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<number> {
  for (const path of [data, backups]) {
    mkdirSync(path, { mode: 0o700 });
    if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY);
  }
  if (traced(['true'], 'probe').status !== 0) {
    process.stdout.write('skipped: strace may not trace here\n');
    return 0;
  }
  const faults = [...compare('uqrp.service', await serve()), ...compare('uqrp-backup.service', backUp())];
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  process.stdout.write(`${faults.length} faults\n`);
  return faults.length === 0 ? 0 : 1;
}

/** Strace's command line, as nobody where this script is root. */
function wrapped(command: readonly string[], name: string): readonly string[] {
  const strace = ['strace', '-f', '-qq', '-y', '-s', '0', '-o', join(data, `${name}.strace`), ...command];
  const drop = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
  return process.getuid?.() === 0 ? [...drop, ...strace] : strace;
}

function environment(): NodeJS.ProcessEnv {
  const free = { UQRP_HTTP_PORT: '0', UQRP_DNS_PORT: '0', UQRP_DOT_PORT: '0', UQRP_DOH_PORT: '0' };
  const { NODE_COMPILE_CACHE: _, ...rest } = process.env;
  return { ...rest, ...free, HOME: '/nonexistent', TMPDIR: data, UQRP_DATA_DIR: data, UQRP_WORKERS: '2' };
}

function traced(command: readonly string[], name: string): { status: number | null; stderr: string } {
  const [program = '', ...args] = wrapped(command, name);
  return spawnSync(program, args, { cwd: '/', env: environment(), encoding: 'utf8', timeout: LIMIT_MS });
}

/** A start, a write, reads over UDP and TCP, a reload and a stop. */
async function serve(): Promise<Trace> {
  const [program = '', ...args] = wrapped(
    [process.execPath, ...nodeOptions(), CLI, 'serve', '--json'],
    'serve',
  );
  const child = spawn(program, args, { cwd: '/', env: environment(), stdio: ['ignore', 'pipe', 'inherit'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const ended = once(child, 'exit') as Promise<[number | null]>;
  // A chunk may have less than the first line, or more.
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string | number | null];
  if (typeof line !== 'string') throw new Error(`the server ended with ${line} before it listened`);
  const { ports } = JSON.parse(line) as { ports: { http: number; dns: number } };
  const response = await fetch(`http://127.0.0.1:${ports.http}/api/v1/auth/sign_in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"email":"ada@example.net"}',
  });
  if (response.status !== 202) throw new Error(`sign-in: ${response.status}`);
  for (const transport of ['+notcp', '+tcp'])
    dig([`@127.0.0.1`, '-p', `${ports.dns}`, transport, 'TXT', 'get.100-km-to-mi.units.public.v1.uqrp.net']);
  const server = serverPid();
  process.kill(server, 'SIGHUP');
  process.kill(server, 'SIGTERM');
  const [code] = await ended;
  clearTimeout(timer);
  if (code !== 0) throw new Error(`the server ended with ${code}`);
  return read('serve');
}

function dig(args: readonly string[]): void {
  const answer = execFileSync('dig', ['+short', ...args], { encoding: 'utf8' });
  if (!answer.includes('v=svc1;s=ok')) throw new Error(`dig ${args.join(' ')}: ${answer}`);
}

/** From the file that the server keeps beside its lock: strace passes signals on to nobody. */
function serverPid(): number {
  return Number.parseInt(readFileSync(join(data, 'serve.pid'), 'utf8'), 10);
}

/** The unit's own command lines, on a folder of backups with one that is too old and one that is not. */
function backUp(): Trace {
  const unit = deployText('systemd/uqrp-backup.service');
  const [old, kept] = [join(backups, 'old'), join(backups, 'kept')];
  for (const [path, days] of [
    [old, 16],
    [kept, 13],
  ] as const) {
    const seconds = (Date.now() - days * DAY_MS) / 1000;
    mkdirSync(path);
    if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY);
    utimesSync(path, seconds, seconds);
  }
  const uqrp = join(folder, 'uqrp');
  writeFileSync(uqrp, `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`, { mode: 0o755 });
  const here = (text: string) =>
    text.replaceAll('/var/lib/uqrp-backups', backups).replace('exec uqrp', `exec ${uqrp}`);
  const [make = '', clean = ''] = [unitValues(unit, 'ExecStart')[0], unitValues(unit, 'ExecStartPost')[0]];
  const made = traced(['sh', '-c', here(shellLine(make))], 'backup');
  if (made.status !== 0) throw new Error(`the backup: ${made.stderr}`);
  const removed = traced(here(clean).split(' '), 'clean');
  if (removed.status !== 0) throw new Error(`removing old backups: ${removed.stderr}`);
  const left = readdirSync(backups).toSorted();
  if (left.length !== 2 || !/^\d{4}(?:-\d\d){2}T(?:\d\d-){2}\d\dZ$/.test(left[0]!) || left[1] !== 'kept')
    throw new Error(`the folder of backups has ${left.join(', ')}`);
  const restored = spawnSync(process.execPath, [CLI, 'restore', join(backups, left[0]!)], {
    env: { ...process.env, UQRP_DATA_DIR: join(folder, 'restored') },
    encoding: 'utf8',
  });
  if (restored.status !== 0) throw new Error(`restore: ${restored.stderr}`);
  const [a, b] = [read('backup'), read('clean')];
  return {
    calls: new Set([...a.calls, ...b.calls]),
    families: new Set([...a.families, ...b.families]),
    written: new Set([...a.written, ...b.written]),
  };
}

function read(name: string): Trace {
  const text = readFileSync(join(data, `${name}.strace`), 'utf8');
  const all = (pattern: RegExp): Set<string> => new Set([...text.matchAll(pattern)].map(([, word]) => word!));
  // A call that fails changes nothing, and the code that makes it expects that.
  const opened = all(/^\d+ +openat\(\S+ "([^"]*)".*(?:O_WRONLY|O_RDWR|O_CREAT).* = \d/gm);
  const changed = all(/^\d+ +(?:mkdir|unlink|rmdir|chmod|rename|link|symlink|truncate)\("([^"]*)".* = 0$/gm);
  return {
    // With -f a call that another thread interrupts has a second line: "<... read resumed>".
    calls: all(/^\d+ +([a-z]\w*)\(/gm),
    families: all(/^\d+ +socket(?:pair)?\((AF_\w+)/gm),
    written: new Set([...opened, ...changed]),
  };
}

/** System calls of a unit's filter: later lines with `~` take away. */
function allowedCalls(unit: string): ReadonlySet<string> {
  // Every filter has the calls that a process needs to start and end.
  const allowed = new Set(expand('@default'));
  for (const value of unitValues(unit, 'SystemCallFilter')) {
    const isTaken = value.startsWith('~');
    for (const name of value.replace('~', '').split(' ').flatMap(expand))
      if (isTaken) allowed.delete(name);
      else allowed.add(name);
  }
  return allowed;
}

/** @param name a call, or a group such as `@file-system` */
function expand(name: string): readonly string[] {
  if (!name.startsWith('@')) return [name];
  const known = groups.get(name);
  if (known !== undefined) return known;
  const text = execFileSync('systemd-analyze', ['syscall-filter', '--no-pager', name], { encoding: 'utf8' });
  const words = text
    .split('\n')
    .slice(1)
    .map((line) => line.trim());
  const calls = words.filter((word) => /^@?\w[\w-]*$/.test(word)).flatMap(expand);
  groups.set(name, calls);
  return calls;
}

function compare(name: string, trace: Trace): readonly string[] {
  const unit = deployText(`systemd/${name}`);
  const families = new Set(unitValues(unit, 'RestrictAddressFamilies').flatMap((value) => value.split(' ')));
  const calls = allowedCalls(unit);
  // /proc/self is open to the process; ProtectSystem=strict leaves /dev, and the unit names the two other folders.
  const isFree = (path: string): boolean =>
    [data, backups, '/dev/', '/proc/self/'].some((start) => path.startsWith(start)) || !path.startsWith('/');
  process.stdout.write(
    `${name}: ${trace.calls.size} system calls, ${[...trace.families].join(' ')}, ${trace.written.size} paths written\n`,
  );
  if (calls.has('mount') || calls.has('setpriority'))
    throw new Error('the filter is not read as systemd reads it');
  if (trace.calls.size < 20 || trace.written.size === 0) throw new Error('the trace is empty');
  return [
    ...[...trace.calls].filter((call) => !calls.has(call)).map((call) => `${name} forbids the call ${call}`),
    ...[...trace.families].filter((each) => !families.has(each)).map((each) => `${name} forbids ${each}`),
    ...[...trace.written].filter((path) => !isFree(path)).map((path) => `${name} cannot write ${path}`),
  ];
}
