/**
 * Go's checksum database verifies our transparency log (test/clients/transparency.go): checkpoint, inclusion, consistency, and the same
 * proofs made from our tiles; and we verify a note that Go signed. Also damage: Go refuses a changed tile, proof and checkpoint.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { encodeBase64 } from '../../src/protocol/encodings.ts';
import { treeHeadText } from '../../src/protocol/transparency/checkpoint.ts';
import { LOG_KEY, printNote, printVerifierKey } from '../../src/protocol/transparency/note.ts';
import {
  checkNote,
  cosignNote,
  readPolicy,
  signNote,
  verifierKeyOf,
} from '../../src/protocol/transparency/signatures.ts';
import { decodeEntries, TILE_LEVELS, tilePath, tileWidth } from '../../src/protocol/transparency/tiles.ts';
import {
  completedTiles,
  consistencyProof,
  inclusionProof,
  leafHash,
  type ReadSubtree,
  rootOf,
  subtreesFromStored,
} from '../../src/protocol/transparency/tree.ts';
import { EXAMPLE, exampleOctets } from '../support/protocol/transparency/example.ts';

const GOPATH = '/usr/share/gocode';
const SOURCE = fileURLToPath(new URL('../clients/transparency.go', import.meta.url));
/** Up to a third level of tiles, and partial ones on all levels: 70,000 is the example of tlog-tiles. */
const SIZES = [1, 2, 255, 256, 257, 5000, 65_536, 70_000];

interface Answer {
  readonly signers: number;
  readonly unknown: number;
  readonly proofs: readonly { readonly inclusion: string[]; readonly consistency: string[] }[];
  readonly vkey: string;
  readonly note: string;
}

if (spawnSync('go', ['version']).status !== 0) {
  process.stdout.write('skipped: Go is not installed (Debian package golang-go)\n');
} else if (!existsSync(join(GOPATH, 'src/golang.org/x/mod/sumdb'))) {
  process.stdout.write('skipped: Debian package golang-golang-x-mod-dev is not installed\n');
} else {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-go-'));
  try {
    const program = build(folder);
    check(program, join(folder, 'example'), decodeEntries(exampleOctets('entries.bin'), 5)!);
    for (const size of SIZES) check(program, join(folder, `${size}`), leavesOf(size));
    refuses(program, join(folder, '5000'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function build(folder: string): string {
  const program = join(folder, 'reader');
  const env = { ...process.env, GOPATH, GO111MODULE: 'off', GOFLAGS: '', GOCACHE: join(folder, 'cache') };
  execFileSync('go', ['build', '-o', program, SOURCE], { env, stdio: 'inherit' });
  return program;
}

function leavesOf(size: number): readonly Uint8Array[] {
  return Array.from({ length: size }, (_, at) => Buffer.from(`entry ${at}`));
}

/** Writes a log into the folder, lets Go read it, and compares. */
function check(program: string, folder: string, leaves: readonly Uint8Array[]): void {
  const size = leaves.length;
  const stored = storedOf(leaves);
  const read = subtreesFromStored(stored);
  const text = treeHeadText({ origin: EXAMPLE.origin, size, root: rootOf(size, read) });
  const signatures = [
    signNote(text, EXAMPLE.origin, EXAMPLE.logKey),
    cosignNote(text, EXAMPLE.witness, EXAMPLE.witnessKey, EXAMPLE.time),
  ];
  write(folder, 'checkpoint', printNote({ text, signatures }));
  write(folder, 'vkey', printVerifierKey(verifierKeyOf(EXAMPLE.origin, LOG_KEY, EXAMPLE.logKey)));
  writeTiles(folder, size, stored);
  const numbers = [...new Set([0, 1, 254, 255, 256, 257, size >> 1, size - 2, size - 1])];
  const cases = numbers
    .filter((index) => index >= 0 && index < size)
    .map((index) => ({ index, old: index + 1 }));
  const proofs = cases.map(({ index, old }) => ({
    inclusion: inclusionProof(index, size, read).map(encodeBase64),
    consistency: consistencyProof(old, size, read).map(encodeBase64),
  }));
  const given = cases.map((one, at) => ({
    ...one,
    ...proofs[at],
    leaf: encodeBase64(leaves[one.index]!),
    oldRoot: encodeBase64(rootOf(one.old, read)),
  }));
  write(folder, 'cases.json', JSON.stringify(given));
  const answer = JSON.parse(execFileSync(program, { cwd: folder, encoding: 'utf8' })) as Answer;
  assert.deepEqual(answer.proofs, proofs);
  // Go knows the log's key alone, and passes over the witness.
  assert.deepEqual([answer.signers, answer.unknown], [1, 1]);
  assert.equal(answer.note.slice(0, text.length), text);
  const policy = readPolicy(`log ${answer.vkey}\nquorum none\n`);
  assert.ok(policy.ok && checkNote(answer.note, policy.policy).valid);
  process.stdout.write(`size ${size}: Go agrees on ${cases.length} inclusion and consistency proofs\n`);
}

/** Hashes of leaves and roots of full tiles, as a log keeps them. */
function storedOf(leaves: readonly Uint8Array[]): ReadSubtree {
  const rows = new Map<string, Uint8Array>();
  const stored: ReadSubtree = ({ level, index }) => rows.get(`${level}/${index}`)!;
  for (const [at, leaf] of leaves.entries()) {
    rows.set(`0/${at}`, leafHash(leaf));
    for (const { level, index, hash } of completedTiles(at + 1, stored)) rows.set(`${level}/${index}`, hash);
  }
  return stored;
}

function writeTiles(folder: string, size: number, stored: ReadSubtree): void {
  for (let level = 0; tileWidth(level, 0, size) > 0; level++) {
    for (let n = 0; tileWidth(level, n, size) > 0; n++) {
      const width = tileWidth(level, n, size);
      const hashes = Array.from({ length: width }, (_, at) =>
        stored({ level: level * TILE_LEVELS, index: n * 256 + at }),
      );
      write(folder, tilePath({ level, n, width }), Buffer.concat(hashes));
    }
  }
}

/** Go must refuse what is damaged: else its silence would prove nothing. */
function refuses(program: string, folder: string): void {
  const damage = (file: string, at: number): void => {
    const path = join(folder, file);
    const whole = readFileSync(path);
    const damaged = Buffer.from(whole);
    damaged[at]! ^= 1;
    writeFileSync(path, damaged);
    const { status } = spawnSync(program, { cwd: folder, stdio: 'ignore' });
    writeFileSync(path, whole);
    assert.notEqual(status, 0, `${file} with another octet ${at}`);
  };
  // Not a full tile of level 0: x/mod 0.7 compares only some of those with the tile above.
  damage('tile/0/019.p/136', 0);
  damage('tile/1/000.p/19', 32);
  damage('checkpoint', 0);
  damage('checkpoint', readFileSync(join(folder, 'checkpoint')).indexOf('\n\n') + 40);
  damage('vkey', 0);
  const cases = readFileSync(join(folder, 'cases.json'));
  for (const name of ['inclusion', 'consistency', 'oldRoot'])
    damage('cases.json', cases.lastIndexOf(`"${name}"`) + 18);
}

function write(folder: string, name: string, content: string | Uint8Array): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
