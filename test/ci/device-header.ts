/**
 * Compiles device/uqrp.h with gcc, clang and g++, under sanitizers, and gives it the replies of test/support/device/cases.ts and two
 * million damaged ones. What is not installed is skipped with a line that says so.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { QUERIES, REPLIES, SIGNED_RECORDS } from '../support/device/cases.ts';
import { envelopeOf, queryOf, replyWith } from '../support/device/messages.ts';
import { requirePrograms } from '../support/process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow', '-Werror'];
const SANITIZERS = ['-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'];
/** Without the library of sanitizers, which is a large package for clang: undefined behaviour ends the program. */
const TRAPS = ['-g', '-fsanitize=undefined', '-fsanitize-trap=undefined'];
/** Command and standard of each compiler. `-x c++`: the files are named `.c`. */
const COMPILERS = [
  ['gcc', '-std=c99'],
  ['clang', '-std=c99'],
  ['g++', '-x', 'c++', '-std=c++11'],
] as const;
const DAMAGED = 2_000_000;
const FUZZ_SEED = 2026;

requirePrograms({ gcc: 'gcc' });
const folder = mkdtempSync(join(tmpdir(), 'uqrp-device-'));
try {
  for (const [compiler, ...options] of COMPILERS) {
    if (spawnSync(compiler, ['--version']).status !== 0) {
      process.stdout.write(`skipped: ${compiler} is not installed\n`);
      continue;
    }
    alone(compiler, options);
    if (!existsSync('/usr/include/openssl/evp.h')) {
      process.stdout.write('skipped: the cases need the Debian package libssl-dev\n');
      continue;
    }
    for (const level of ['-O0', '-O2'])
      cases(compile(compiler, [...options, level], 'probe.c', '-lcrypto'), `${compiler} ${level}`);
  }
  fuzz();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @returns the program */
function compile(compiler: string, options: readonly string[], file: string, ...libraries: string[]): string {
  const program = join(folder, `${compiler}-${file}`);
  const source = join(ROOT, 'test/device', file);
  const sanitizers = compiler === 'clang' ? TRAPS : SANITIZERS;
  const include = `-I${join(ROOT, 'device')}`;
  execFileSync(
    compiler,
    [...options, ...WARNINGS, ...sanitizers, include, '-o', program, source, '-x', 'none', ...libraries],
    {
      stdio: 'inherit',
    },
  );
  return program;
}

/** The header by itself, without a use of its functions and without `uqrp_verify`: it brings what it needs, and links. */
function alone(compiler: string, options: readonly string[]): void {
  const program = join(folder, 'alone');
  const input = '#include "uqrp.h"\nint main(void) { return 0; }\n';
  const language = options.includes('-x') ? options : ['-x', 'c', ...options];
  execFileSync(compiler, [...language, ...WARNINGS, `-I${join(ROOT, 'device')}`, '-o', program, '-'], {
    input,
  });
  execFileSync(program);
}

function cases(program: string, name: string): void {
  const hex = (octets: Buffer): string => octets.toString('hex') || '-';
  const value = (octets: Buffer | null | undefined): string => (octets ? `=${octets.toString('hex')}` : '-');
  const lines: string[] = [];
  const checks: ((found: string) => void)[] = [];
  const call = (line: string, check: (found: string) => void): void => {
    lines.push(line);
    checks.push(check);
  };
  for (const { key, token, zone, size, query } of QUERIES) {
    const words = [0x1234, key || '-', token || '-', zone || '-', size];
    const rooms = query === null ? [282, 300] : [query.length, 300];
    for (const room of rooms)
      call(`query ${words.join(' ')} ${room}`, (found) => assert.equal(found, value(query), key));
    // An octet less, and every smaller room.
    for (let room = 0; room < (query?.length ?? 0); room++)
      call(`query ${words.join(' ')} ${room}`, (found) => assert.equal(found, '-', `${key} ${room}`));
  }
  for (const { name: what, query, reply, result, ...record } of REPLIES)
    call(`reply ${hex(query)} ${hex(reply)}`, (found) => {
      const [is, data, ttlHint, dnsTtl, fields] = found.split(' ');
      assert.equal(is, result, what);
      if (result !== 'OK') assert.equal(found, `${result} - 0 0 -`, what);
      if (record.data !== undefined) assert.equal(data, value(record.data), what);
      if (record.ttlHint !== undefined) assert.equal(Number(ttlHint), record.ttlHint, what);
      if (record.dnsTtl !== undefined) assert.equal(Number(dnsTtl), record.dnsTtl, what);
      if (record.fields !== undefined) assert.equal(fields, value(Buffer.from(record.fields)), what);
    });
  for (const { name: what, key, keys, latest, data, result, payload, after = latest } of SIGNED_RECORDS) {
    const query = queryOf(key);
    const reply = replyWith(query, envelopeOf(data));
    call(`signed ${hex(query)} ${hex(reply)} ${key} ${hex(Buffer.concat(keys))} ${hex(latest)}`, (found) =>
      assert.equal(found, `${result} ${value(payload)} ${value(after)}`, what),
    );
  }
  // A key that is longer than the name in the question: there is no room for the signed text.
  const short = queryOf('a.v1', { zone: 'x' });
  const { data: signedOff } = SIGNED_RECORDS[0]!;
  call(
    `signed ${hex(short)} ${hex(replyWith(short, envelopeOf(signedOff)))} ${'x'.repeat(200)} ${'00'.repeat(32)} ${'00'.repeat(6)}`,
    (found) => assert.equal(found, `FORGED - =${'00'.repeat(6)}`),
  );
  const table = REPLIES.find((each) => each.name === 'fields only')!;
  for (const [field, text] of [
    ['val', '100'],
    ['from', 'km'],
    ['ts', '1767225600'],
    ['va', null],
    ['val=100', null],
    ['d', null],
  ] as const)
    call(`field ${hex(table.query)} ${hex(table.reply)} ${field}`, (found) =>
      assert.equal(found, value(text === null ? null : Buffer.from(text)), field),
    );
  const off = REPLIES.find((each) => each.name === 'a value')!;
  for (const [text, is] of [
    ['off', '1'],
    ['offf', '0'],
    ['of', '0'],
    ['-', '0'],
    ['on', '0'],
  ])
    call(`is ${hex(off.query)} ${hex(off.reply)} ${text}`, (found) => assert.equal(found, is, `is ${text}`));
  call(`is ${hex(table.query)} ${hex(table.reply)} -`, (found) => assert.equal(found, '0'));
  const found = execFileSync(program, { input: `${lines.join('\n')}\n`, encoding: 'utf8' }).split('\n');
  assert.equal(found.length - 1, checks.length);
  for (const [index, check] of checks.entries()) check(found[index]!.slice(1));
  process.stdout.write(`${name}: ${checks.length} calls\n`);
}

function fuzz(): void {
  const signed = SIGNED_RECORDS.slice(0, 8).map(({ key, data }) => {
    const query = queryOf(key);
    return { query, reply: replyWith(query, envelopeOf(data)) };
  });
  // Signed records as often as all others together, since they reach the most code.
  const seeds = [...REPLIES, ...Array.from({ length: 12 }, () => signed).flat()];
  const input = seeds
    .filter(({ reply }) => reply.length > 0)
    .map(({ query, reply }) => `${query.toString('hex')} ${reply.toString('hex')}\n`)
    .join('');
  const program = compile('gcc', ['-std=c99', '-O1'], 'fuzz.c');
  const printed = execFileSync(program, [String(DAMAGED), String(FUZZ_SEED)], { input, encoding: 'utf8' });
  const counts = new Map(printed.split('\n').map((line) => line.split(' ') as [string, string]));
  const reached = [
    'OK',
    'EMPTY',
    'FAILED',
    'SERVICE',
    'REPLY',
    'FORMAT',
    'OTHER',
    'UNSIGNED',
    'FORGED',
    'SIGNED',
  ];
  for (const result of reached)
    assert.ok(Number(counts.get(result)) > 100, `${result}: ${counts.get(result)}`);
  process.stdout.write(`${DAMAGED} damaged replies\n${printed}`);
}
