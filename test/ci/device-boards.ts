/**
 * device/uqrp.h on small processors: its size on four of them, its replies on an emulated Cortex-M3, and the examples for Arduino, Zephyr
 * and lwIP. What is not installed is skipped with a line that says so.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { REPLIES } from '../support/device/cases.ts';
import { envelopeOf, replyOf, replyWith } from '../support/device/messages.ts';
import { startPath } from '../support/device/path.ts';
import { run } from '../support/device/program.ts';
import { account, startUqrp, writeRecords } from '../support/server-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DEVICE = join(ROOT, 'device');
const TESTS = join(ROOT, 'test/device');
const WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow', '-Werror'];
const FREE = ['-std=c99', '-ffreestanding', `-I${join(TESTS, 'freestanding')}`, `-I${DEVICE}`];
/** Row of docs/DEVICES.md, compiler with its Debian package, options, maximum of octets without and with `uqrp_signed`. */
const BOARDS = [
  ['Cortex-M4', 'arm-none-eabi', ['-mcpu=cortex-m4', '-mthumb'], 2048, 2048],
  ['Cortex-M0+', 'arm-none-eabi', ['-mcpu=cortex-m0plus', '-mthumb'], 2048, 2048],
  ['AVR (ATmega328P)', 'avr', ['-mmcu=atmega328p'], 3072, 3584],
  ['RISC-V (RV32IMAC)', 'riscv64-unknown-elf', ['-march=rv32imac', '-mabi=ilp32'], 2304, 2816],
] as const;
/** Of a figure on the page: another version of a compiler makes other code. */
const TOLERANCE = 0.1;
const KEY = 'lamp.status.acme.v1';

const folder = mkdtempSync(join(tmpdir(), 'uqrp-device-'));
try {
  sizes();
  emulated();
  await examples();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function tell(text: string): void {
  process.stdout.write(`${text}\n`);
}

function has(program: string, packages: string): boolean {
  if (spawnSync('sh', ['-c', `command -v ${program}`]).status === 0) return true;
  tell(`skipped: ${program} is not installed (${packages})`);
  return false;
}

function compile(compiler: string, ...args: readonly string[]): void {
  execFileSync(compiler, args, { stdio: 'inherit' });
}

function sizes(): void {
  const page = readFileSync(join(ROOT, 'docs/DEVICES.md'), 'utf8');
  for (const [name, target, options, most, mostSigned] of BOARDS) {
    if (!has(`${target}-gcc`, `gcc-${target}`)) continue;
    const found = [[], ['-DSIGNED']].map((define) => {
      const object = join(folder, 'size.o');
      const source = join(TESTS, 'size.c');
      compile(
        `${target}-gcc`,
        ...options,
        ...FREE,
        ...WARNINGS,
        '-Os',
        ...define,
        '-c',
        '-o',
        object,
        source,
      );
      const printed = execFileSync(`${target}-size`, [object], { encoding: 'utf8' });
      const [text, data, bss] = printed.split('\n')[1]!.trim().split(/\s+/).map(Number);
      assert.deepEqual([data, bss], [0, 0], `${name}: the header has state`);
      return text!;
    });
    tell(`${name}: ${found.join(' octets, with signatures ')}`);
    assert.ok(
      found[0]! <= most && found[1]! <= mostSigned,
      `${name}: ${found.join(' and ')} octets, at most ${most} and ${mostSigned}`,
    );
    const row = page.split('\n').find((line) => line.startsWith(`| ${name} |`));
    const shown =
      row
        ?.split('|')
        .slice(2, 4)
        .map((cell) => Number(cell.replace(',', ''))) ?? [];
    found.forEach((octets, index) => {
      assert.ok(
        Math.abs(octets - shown[index]!) <= TOLERANCE * octets,
        `${name}: the page says ${shown.join(' and ')}`,
      );
    });
  }
}

/** The replies on a Cortex-M3. */
function emulated(): void {
  if (!has('arm-none-eabi-gcc', 'gcc-arm-none-eabi') || !has('qemu-system-arm', 'qemu-system-arm')) return;
  const list = (octets: Buffer): string => `{${[...octets, 0].join(',')}}`;
  const lines = REPLIES.map(
    ({ query, reply }, index) =>
      `static const uint8_t query_${index}[] = ${list(query)}, reply_${index}[] = ${list(reply)};\n`,
  );
  const rows = REPLIES.map(
    ({ query, reply }, index) => `{query_${index}, reply_${index}, ${query.length}, ${reply.length}}`,
  );
  const cases = join(folder, 'cases.inc');
  writeFileSync(
    cases,
    `${lines.join('')}static const struct board_case board_cases[] = {${rows.join(',\n')}};\n`,
  );
  const program = join(folder, 'board.elf');
  compile(
    'arm-none-eabi-gcc',
    ...[
      '-mcpu=cortex-m3',
      '-mthumb',
      '-Os',
      '-nostdlib',
      '-fno-tree-loop-distribute-patterns',
      ...FREE,
      '-Wall',
      '-Wextra',
      '-Werror',
    ],
    ...[
      `-DBOARD_CASES="${cases}"`,
      `-Wl,-T,${join(TESTS, 'board.ld')}`,
      '-o',
      program,
      join(TESTS, 'board.c'),
      '-lgcc',
    ],
  );
  const qemu = [
    '-M',
    'lm3s6965evb',
    '-display',
    'none',
    '-serial',
    'none',
    '-monitor',
    'none',
    '-semihosting',
  ];
  const ran = spawnSync('qemu-system-arm', [...qemu, '-kernel', program], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(ran.status, 0, ran.stderr);
  // Semihosting writes to standard error, where qemu also warns of clocks.
  const found = `${ran.stdout}${ran.stderr}`.match(/^[A-Z]+ \d+ \d+$/gm) ?? [];
  assert.equal(found.length, REPLIES.length);
  for (const [index, { name, result, data }] of REPLIES.entries()) {
    const sum = (octets: Buffer): number =>
      octets.reduce((total, octet) => (Math.imul(total, 31) + octet) >>> 0, 0);
    if (data === undefined && result === 'OK') assert.equal(found[index]!.split(' ')[0], 'OK', name);
    else assert.equal(found[index], `${result} ${data?.length ?? 0} ${sum(data ?? Buffer.alloc(0))}`, name);
  }
  tell(`qemu, Cortex-M3: ${found.length} replies`);
}

/** Examples against a real server, behind a path where the first packet is lost and stray ones come. */
async function examples(): Promise<void> {
  const source = (name: string): string => join(DEVICE, 'examples', name);
  const server = await startUqrp({ UQRP_WORKERS: '1' });
  const path = await startPath(server.ports.dns);
  try {
    const owner = account(server);
    await owner.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    server.cli(['namespace', 'public-read', 'acme', 'on']);
    await writeRecords(owner, [{ key: KEY, data: Buffer.from('on').toString('base64') }]);
    const url = `http://127.0.0.1:${server.ports.http}/resolve?name=get.${KEY}.uqrp.net&type=TXT`;
    for (const until = Date.now() + 60_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
      if ((await (await fetch(url)).text()).includes(';d=')) break;
      assert.ok(Date.now() < until, 'the record is not answered');
    }
    const read = async (program: string, expected: string, ...args: readonly string[]): Promise<void> => {
      let lost = 1;
      path.rules = {
        forge: (query) => {
          const stray = replyWith(query, envelopeOf(Buffer.from('off')));
          stray.writeUInt8(query[1]! ^ 1, 1);
          return [stray, Buffer.from(query), replyOf(query, []).subarray(0, 9)];
        },
        isLost: () => lost-- > 0,
      };
      const ran = await run(program, args, { DNS_PORT: String(path.port) });
      assert.deepEqual([ran.code, ran.out.toString(), ran.errors], [0, expected, '']);
    };
    if (has('g++', 'g++')) {
      const sketch = source('arduino/uqrp_read');
      const program = join(folder, 'sketch');
      const include = [`-I${DEVICE}`, `-I${join(TESTS, 'fakes/arduino')}`, `-I${sketch}`];
      const main = join(folder, 'sketch.cpp');
      writeFileSync(
        main,
        `#include <Arduino.h>\n#include "uqrp_read.ino"\nint main() {\n  setup();\n  for (;;) loop();\n}\n`,
      );
      compile(
        'g++',
        '-std=c++11',
        ...WARNINGS,
        '-fsanitize=address,undefined',
        ...include,
        '-o',
        program,
        main,
      );
      await read(program, 'OK\npin 13 is on\n');
      tell('Arduino: read');
    }
    if (has('gcc', 'gcc')) {
      const program = join(folder, 'zephyr');
      const here = ['-DUQRP_SERVER="127.0.0.1"', `-DUQRP_PORT=${path.port}`, `-DUQRP_KEY="${KEY}"`];
      const options = [
        '-std=c99',
        '-D_GNU_SOURCE',
        '-fsanitize=address,undefined',
        `-I${DEVICE}`,
        `-I${join(TESTS, 'fakes')}`,
      ];
      compile('gcc', ...WARNINGS, ...options, ...here, '-o', program, source('zephyr.c'));
      await read(program, 'OK on\n');
      tell('Zephyr: read');
    }
    if (!existsSync('/usr/include/lwip/lwip/udp.h')) tell('skipped: lwIP is not installed (liblwip-dev)');
    else if (has('gcc', 'gcc')) {
      const program = join(folder, 'lwip');
      // Debian's headers need limits.h first.
      const options = ['-std=c99', '-D_GNU_SOURCE', '-isystem', '/usr/include/lwip', '-include', 'limits.h'];
      compile('gcc', ...WARNINGS, ...options, `-I${DEVICE}`, '-o', program, join(TESTS, 'lwip.c'), '-llwip');
      await read(program, 'OK on\n', KEY);
      tell('lwIP: read');
    }
  } finally {
    path.close();
    await server.remove();
  }
}
