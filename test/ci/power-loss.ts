/**
 * Takes the power from a whole server while it writes: it runs on a file system of its own, and at random instants it is stopped and the
 * disk under that file system is copied as it is then, without what only the kernel's memory holds. Each copy is mounted, and a
 * server starts on it: every acknowledged write must be there. Exit code 1 at the first lost or wrong one. Needs root and a
 * loop device; elsewhere it says why it does nothing.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { replaceFileSync } from '../../src/base/files.ts';
import { usageSpool } from '../../src/dns/accounting/spool.ts';
import { loadKeys, updateKeys } from '../../src/dns/dnssec/key-files.ts';
import { writeState } from '../../src/view/lmdb/view-directory.ts';
import { compareWithLedger, type Ledger, ledgerCustomer, newLedger, writeToLedger } from '../faults/kill.ts';
import { requirePrograms, start } from '../support/process.ts';
import { seededRng } from '../support/protocol/dns/fuzz.ts';
import { type Account, startUqrp } from '../support/server-process.ts';

/** Octets of the disk: a copy of it is made for each loss of power. */
const DISK = 128 * 2 ** 20;
/** Copies at most, and milliseconds for all of their checks. */
const LOSSES = 8;
const LIMIT_MS = 60_000;
/** Milliseconds between two losses, at most. */
const BETWEEN_MS = 900;
/** A disk that was not written for so long, milliseconds, has done what the kernel had begun when the processes were stopped. */
const QUIET_MS = 30;
const ENV = { UQRP_WORKERS: '1' };
const ZONE = 'small.example';

/** Everything of one loss: the copy, and what had been acknowledged. */
interface Loss {
  readonly image: string;
  readonly customer: Account;
  readonly ledger: Ledger;
  /** Of the small files: the last number that was written and acknowledged. */
  readonly small: number;
}

if (process.argv[2] === 'write') await writeSmall(process.argv[3]!);
else await main(Number(process.argv[2] ?? Date.now() % 1_000_000));

async function main(seed: number): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    skip('only root of Linux can mount a file system');
  requirePrograms({ 'mkfs.ext4': 'e2fsprogs', mount: 'mount', umount: 'mount' });
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'uqrp-power-'));
  const unmount: string[] = [];
  try {
    const disk = join(folder, 'disk');
    writeFileSync(disk, '');
    execFileSync('truncate', ['-s', String(DISK), disk]);
    execFileSync('mkfs.ext4', ['-q', '-F', disk]);
    const home = join(folder, 'home');
    mount(disk, home, unmount);
    const losses = await lose(disk, home, seed);
    const beganAt = Date.now();
    let names = 0;
    let checked = 0;
    for (const loss of losses) {
      if (Date.now() - beganAt > LIMIT_MS) break;
      names += await check(loss, join(folder, `loss-${checked++}`), unmount);
    }
    const writes = losses.at(-1)!.ledger.writes;
    process.stdout.write(
      `seed ${seed}: ${checked} losses of power, ${writes} acknowledged writes of records and ${losses.at(-1)!.small} of small files, ${names} names compared\n`,
    );
  } finally {
    for (const path of unmount.toReversed()) execFileSync('umount', ['-l', path]);
    rmSync(folder, { recursive: true, force: true });
  }
}

function skip(reason: string): never {
  process.stdout.write(`skipped: ${reason}\n`);
  process.exit(0);
}

/** Without its own journal commits every few seconds: what nobody syncs stays in memory. */
function mount(disk: string, at: string, unmount: string[]): void {
  mkdirSync(at);
  try {
    execFileSync('mount', ['-o', 'loop,commit=300', disk, at], { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    if (unmount.length > 0) throw error;
    skip(`no loop device can be mounted here: ${String((error as { stderr: Buffer }).stderr).trim()}`);
  }
  unmount.push(at);
}

/** Runs a server on the disk, and takes copies of the disk while it writes. */
async function lose(disk: string, home: string, seed: number): Promise<readonly Loss[]> {
  const rng = seededRng(seed);
  const dataDir = join(home, 'data');
  const server = await startUqrp(ENV, dataDir);
  const ledger = newLedger();
  const customer = await ledgerCustomer(server);
  // Makes the folders of the small files before the first loss.
  const writer = start(process.execPath, [import.meta.filename, 'write', join(home, 'small')]);
  let small = 0;
  const small1 = Promise.withResolvers<void>();
  writer.stdout!.on('data', (text: Buffer) => {
    small = Number(text.toString().trim().split('\n').at(-1));
    small1.resolve();
  });
  writer.once('exit', () => small1.reject(new Error('the writer of small files ended')));
  const first = Promise.withResolvers<void>();
  ledger.afterWrite = () => first.resolve();
  const writing = writeToLedger(customer, ledger, rng, 0);
  await Promise.all([first.promise, small1.promise]);
  const losses: Loss[] = [];
  for (let n = 0; n < LOSSES; n++) {
    await sleep(rng(BETWEEN_MS));
    for (const { pid } of [server.child, writer]) process.kill(pid!, 'SIGSTOP');
    // What arrives from now on was sent before: the ledger has both outcomes of a write that is not acknowledged.
    const then = { ...ledger, possible: new Map(ledger.possible), short: new Map(ledger.short) };
    const loss = { image: `${disk}-${n}`, customer, ledger: then, small };
    await copy(disk, loss.image);
    losses.push(loss);
    for (const { pid } of [server.child, writer]) process.kill(pid!, 'SIGCONT');
  }
  await kill(writer);
  await Promise.all([kill(server.child), writing]);
  return losses;
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await gone;
}

/** A stopped process may be inside a sync: the copy is of a moment at which the kernel has ended it. */
async function copy(disk: string, to: string): Promise<void> {
  for (;;) {
    const before = statSync(disk, { bigint: true }).mtimeNs;
    await sleep(QUIET_MS);
    copyFileSync(disk, to);
    if (statSync(disk, { bigint: true }).mtimeNs === before) return;
  }
}

/** @returns names that were compared. @throws at the first that is lost or wrong */
async function check(
  { image, customer, ledger, small }: Loss,
  home: string,
  unmount: string[],
): Promise<number> {
  mount(image, home, unmount);
  await checkSmall(join(home, 'small'), small);
  const dataDir = join(home, 'data');
  // A machine that starts again has another one.
  const state = join(dataDir, 'view', 'state');
  if (existsSync(state)) {
    writeFileSync(state, readFileSync(state, 'latin1').replace(/open .*/, 'open 0-another-boot'));
  }
  const server = await startUqrp(ENV, dataDir);
  try {
    const there = customer.at(`http://127.0.0.1:${server.ports.http}/api/v1`);
    return await compareWithLedger(server, there, ledger);
  } finally {
    await server.stop();
    execFileSync('umount', [home]);
    unmount.splice(unmount.indexOf(home), 1);
    rmSync(image);
  }
}

/** Replaces small files one after the other with rising numbers, and tells each number once it is written. */
async function writeSmall(folder: string): Promise<void> {
  mkdirSync(folder);
  for (let n = 1; ; n++) {
    replaceFileSync(join(folder, 'replaced'), `${n} `.repeat(2000), 0o600);
    writeState(folder, n, 'clean');
    const counts = [{ namespaceId: 'n', hour: 0, answers: n }];
    await usageSpool(folder).write([{ node: 'node', batch: String(n), counts }]);
    if (n === 1) loadKeys(folder, ZONE, () => n);
    else
      updateKeys(
        folder,
        ZONE,
        () => Date.now(),
        (set) => ({ keys: { ...set, keys: set.keys.map((key) => ({ ...key, createdAt: n })) } }),
      );
    process.stdout.write(`${n}\n`);
  }
}

/** Each file is whole, and not older than what was acknowledged. */
async function checkSmall(folder: string, last: number): Promise<void> {
  const [batch] = await usageSpool(folder).read();
  const found = {
    replaced: new Set(readFileSync(join(folder, 'replaced'), 'latin1').trim().split(' ')),
    state: new Set([readFileSync(join(folder, 'state'), 'latin1').split(' ')[0]!]),
    spool: new Set([batch?.batch ?? 'none']),
    keys: new Set(loadKeys(folder, ZONE, () => 0).keys.map(({ createdAt }) => String(createdAt))),
  };
  for (const [name, numbers] of Object.entries(found)) {
    assert.equal(numbers.size, 1, `${name} is torn`);
    const [number] = [...numbers].map(Number);
    assert.ok(number! >= last, `${name} has ${number}, and ${last} was acknowledged`);
  }
}
