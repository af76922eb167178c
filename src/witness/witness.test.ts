import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { keyOf, keyOfSeed, SmallLog } from '../../test/support/protocol/transparency/small-log.ts';
import { parseCheckpoint } from '../protocol/transparency/checkpoint.ts';
import { COSIGNER_KEY, parseSignatureLines, printVerifierKey } from '../protocol/transparency/note.ts';
import { verifierKeyOf, verifyNoteSignature } from '../protocol/transparency/signatures.ts';
import { makeWitnessDatabase, openWitnessDatabase, originHash, type WitnessDatabase } from './database.ts';
import { addCheckpoint, type CosignReply, latestCheckpoint, trustLog } from './witness.ts';

const NOW = 1_795_651_202_000;
const FIXTURES = new URL('../../test/fixtures/transparency/', import.meta.url);
const fixture = (name: string): Buffer => readFileSync(new URL(name, FIXTURES));

const LEAVES = Array.from({ length: 20 }, (_, i) => `leaf ${i}`);
const FORKED = LEAVES.map((leaf, i) => (i === 3 ? 'another leaf' : leaf));

describe('a witness', () => {
  let folder: string;
  let path: string;
  let database: WitnessDatabase;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-witness-'));
    path = join(folder, 'witness.db');
    database = made('w.example/1', keyOf('w.example/1'));
  });
  afterEach(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });

  function made(name: string, key: KeyObject, at = path): WitnessDatabase {
    makeWitnessDatabase(at, name, key);
    return openWitnessDatabase(at)!;
  }

  const ask = (body: string | Uint8Array): CosignReply => addCheckpoint(database, Buffer.from(body), NOW);

  it("gives the worked example's answer, and then the checkpoint with both signatures", () => {
    const seeds = JSON.parse(fixture('seeds.json').toString()) as { witness: string };
    const key = keyOfSeed(Buffer.from(seeds.witness, 'hex'));
    const other = made('witness.example.org/w1', key, join(folder, 'other.db'));
    const [, , vkey = ''] = /^(log) (\S+)/m.exec(fixture('policy.txt').toString()) ?? [];
    assert.equal(trustLog(other, vkey), null);
    // It cosigned size 3 before.
    const hash = originHash('api.example.net/log');
    const root = Buffer.from('k+YSlr2FSZTWRYQX/X60EpoFoZlJwUUz7nLTKyY8CfY=', 'base64');
    other.change(hash, (row) => ({ keep: { ...row!, size: 3, root }, result: null }));
    const answer = addCheckpoint(other, fixture('add-checkpoint.txt'), NOW);
    assert.deepEqual(answer, { status: 200, body: fixture('cosignature.txt').toString() });
    assert.deepEqual(latestCheckpoint(other, hash), {
      status: 200,
      body: fixture('checkpoint.txt').toString(),
    });
    other.close();
  });

  const log = (size: number): SmallLog => new SmallLog(LEAVES.slice(0, size));
  const note = new SmallLog(LEAVES).note();
  const signature = note.slice(note.lastIndexOf('— '));
  const wrong = signature.replace(/.{12}=\n$/, 'AAAAAAAAAAAA=\n');

  /** What is asked of a witness that cosigned size 8, in the order of its checks. */
  const requests: readonly (readonly [string, string | Uint8Array, number, string?])[] = [
    ['an empty body', '', 400],
    ['no empty line', 'old 8\n', 400],
    ['a size with a zero before', log(20).request(8).replace('old 8', 'old 08'), 400],
    ['a size with a sign', log(20).request(8).replace('old 8', 'old +8'), 400],
    ['no size', log(20).request(8).replace('old 8', 'old '), 400],
    ['a size that no number holds', log(20).request(8).replace('old 8', 'old 9007199254740993'), 400],
    ['carriage returns', log(20).request(8).replaceAll('\n', '\r\n'), 400],
    [
      'a hash of 31 octets',
      log(20)
        .request(8)
        .replace('\n', `\n${Buffer.alloc(31).toString('base64')}\n`),
      400,
    ],
    ['Base64 that is not strict', log(20).request(8).replace('=\n', '\n'), 400],
    ['64 hashes', `old 8\n${`${Buffer.alloc(32).toString('base64')}\n`.repeat(64)}\n${note}`, 400],
    [
      'a checkpoint without signatures',
      log(20)
        .request(8)
        .replace(/— .*\n/, ''),
      400,
    ],
    ['octets that are no UTF-8', Buffer.concat([Buffer.from(log(20).request(8)), Buffer.from([0xff])]), 400],
    ['a log that is not known', new SmallLog(LEAVES, 'other.example/log').request(8), 404],
    ['no signature of the log', log(20).request(8).replace('— log.example.net/log ', '— x.example '), 403],
    ['a wrong signature of the log', log(20).request(8).replace(signature, wrong), 403],
    ['a right signature and a wrong one', log(20).request(8) + wrong, 403],
    ['an old size above the size', log(20).request(9, 8), 400],
    ['a smaller old size', log(20).request(0), 409, '8\n'],
    ['a larger old size', log(20).request(12), 409, '8\n'],
    ['an older checkpoint', log(5).request(5), 409, '8\n'],
    ['another root for the same size', new SmallLog(FORKED.slice(0, 8)).request(8), 422],
    ['another history', new SmallLog(FORKED).request(8), 422],
    [
      'a proof that lacks a hash',
      log(20)
        .request(8)
        .replace(/\n.*\n/, '\n'),
      422,
    ],
    [
      'a proof with a hash too many',
      log(20)
        .request(8)
        .replace('\n', `\n${Buffer.alloc(32).toString('base64')}\n`),
      422,
    ],
    [
      'a proof for the same size',
      log(8)
        .request(8)
        .replace('\n', `\n${Buffer.alloc(32).toString('base64')}\n`),
      422,
    ],
    ['the same checkpoint', log(8).request(8), 200],
    ['one more entry', log(9).request(8), 200],
    ['sixteen signatures of others', log(9).request(8) + signature.replace('log.', 'x.').repeat(16), 200],
  ];

  for (const [what, body, status, text] of requests) {
    it(`answers ${status} to ${what}`, () => {
      trustLog(database, log(8).vkey);
      assert.equal(ask(log(8).request(0)).status, 200);
      const before = latestCheckpoint(database, originHash(log(8).origin));
      const answer = ask(body);
      assert.equal(answer.status, status, answer.body);
      assert.equal(answer.type, status === 409 ? 'text/x.tlog.size' : undefined);
      if (text !== undefined) assert.equal(answer.body, text);
      const after = latestCheckpoint(database, originHash(log(8).origin));
      if (status === 200) assert.ok(after.body.endsWith(answer.body));
      else assert.deepEqual(after, before, 'nothing was kept');
    });
  }

  it('cosigns an empty log by its one root alone', () => {
    trustLog(database, log(0).vkey);
    const body = log(0).request(0);
    const root = Buffer.alloc(32, 1);
    const forged = new SmallLog([]);
    forged.root = () => root;
    assert.equal(ask(forged.request(0)).status, 422);
    assert.equal(ask(body).status, 200);
    assert.equal(ask(log(3).request(0)).status, 200);
  });

  it('keeps the signatures of the log and of itself alone, so that its row has a bound', () => {
    trustLog(database, log(8).vkey);
    const others = signature.replace('log.', 'x.').repeat(16);
    assert.equal(ask(log(8).request(0) + others).status, 200);
    const { body } = latestCheckpoint(database, originHash(log(8).origin));
    assert.deepEqual(
      parseCheckpoint(body)!.note.signatures.map(({ name }) => name),
      ['log.example.net/log', 'w.example/1'],
    );
  });

  it('gives a cosignature that others verify', () => {
    trustLog(database, log(8).vkey);
    const answer = ask(log(8).request(0));
    const [line] = parseSignatureLines(answer.body)!;
    const key = verifierKeyOf('w.example/1', COSIGNER_KEY, keyOf('w.example/1'));
    const { text } = parseCheckpoint(log(8).note())!.note;
    assert.equal(verifyNoteSignature(text, key, line!), NOW / 1000);
  });

  it('trusts one key for an origin, and no key of a witness', () => {
    assert.equal(trustLog(database, log(8).vkey), null);
    assert.equal(trustLog(database, log(8).vkey), null);
    const other = new SmallLog(LEAVES);
    Object.assign(other, { key: keyOf('another key') });
    assert.match(
      trustLog(database, other.vkey)!,
      /^another key of log\.example\.net\/log is trusted already/,
    );
    const wrongId = log(8).vkey.replace(/\+[0-9a-f]{8}\+/, '+00000000+');
    for (const text of ['', 'x', wrongId, log(8).vkey.slice(0, -4)])
      assert.equal(trustLog(database, text), 'it is not a verifier key of a log');
    const own = printVerifierKey(verifierKeyOf('w.example/1', COSIGNER_KEY, keyOf('a witness')));
    assert.match(trustLog(database, own)!, /^it is the key of a witness\. /);
  });

  it('has committed before it answers: a commit that fails gives no cosignature', () => {
    trustLog(database, log(8).vkey);
    const other = new DatabaseSync(path);
    other.exec("create trigger no before update on logs begin select raise(abort, 'full'); end");
    assert.throws(() => ask(log(8).request(0)), /full/);
    other.exec('drop trigger no');
    // The unit that failed holds no lock.
    assert.equal(ask(log(8).request(0)).status, 200);
    const row = other.prepare('select size from logs').get();
    assert.deepEqual({ ...row }, { size: 8 });
    other.close();
  });

  it('lets the machine lose nothing that was committed: the journal is removed on disk too', (context) => {
    const exec = context.mock.method(DatabaseSync.prototype, 'exec');
    openWitnessDatabase(path)!.close();
    const [pragmas = ''] = exec.mock.calls.map(({ arguments: [sql] }) => sql);
    assert.equal(pragmas, 'pragma journal_mode = delete; pragma synchronous = extra');
    exec.mock.restore();
    const other = new DatabaseSync(path, { readOnly: true });
    assert.deepEqual({ ...other.prepare('pragma journal_mode').get() }, { journal_mode: 'delete' });
    other.close();
  });

  it('is never made over another one, never starts without its memory, and leaves no draft', () => {
    assert.throws(() => makeWitnessDatabase(path, 'other', keyOf('other')), { code: 'EEXIST' });
    assert.equal(database.name, 'w.example/1');
    const missing = join(folder, 'none.db');
    assert.equal(openWitnessDatabase(missing), null);
    assert.ok(!existsSync(missing));
    assert.deepEqual(readdirSync(folder), ['witness.db']);
  });

  it('cosigns nothing once its file was removed or replaced', () => {
    trustLog(database, log(8).vkey);
    renameSync(path, `${path}.away`);
    assert.throws(() => ask(log(8).request(0)), /was removed or replaced/);
    makeWitnessDatabase(path, 'other', keyOf('other'));
    assert.throws(() => ask(log(8).request(0)), /was removed or replaced/);
    rmSync(path);
    renameSync(`${path}.away`, path);
    assert.equal(ask(log(8).request(0)).status, 200);
  });

  it('decides on the row as another process left it', () => {
    trustLog(database, log(8).vkey);
    const second = openWitnessDatabase(path)!;
    assert.equal(addCheckpoint(second, Buffer.from(log(9).request(0)), NOW).status, 200);
    assert.deepEqual(ask(new SmallLog(FORKED).request(0)), {
      status: 409,
      type: 'text/x.tlog.size',
      body: '9\n',
    });
    second.close();
  });
});
