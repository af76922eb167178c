import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, afterEach, before, describe, it } from 'node:test';
import { keyOf, SmallLog } from '../../test/support/protocol/transparency/small-log.ts';
import { LIMITS } from '../base/limits.ts';
import { makeWitnessDatabase, openWitnessDatabase, originHash, type WitnessDatabase } from './database.ts';
import { createWitnessServer } from './server.ts';
import { trustLog } from './witness.ts';

/** @param third the third entry, in which two histories differ */
const log = (size: number, third = 'leaf 2'): SmallLog =>
  new SmallLog(Array.from({ length: size }, (_, i) => (i === 2 ? third : `leaf ${i}`)));
const HISTORIES = ['one', 'another'];

describe('the server of a witness', () => {
  let folder: string;
  let database: WitnessDatabase;
  let server: Server;
  let base: string;
  let errors: unknown[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-witness-'));
    makeWitnessDatabase(join(folder, 'witness.db'), 'w.example/1', keyOf('w.example/1'));
    database = openWitnessDatabase(join(folder, 'witness.db'))!;
    trustLog(database, log(0).vkey);
    server = createWitnessServer({ database, clock: () => 1e12, onError: (error) => errors.push(error) });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
    database.close();
    rmSync(folder, { recursive: true });
  });
  afterEach(() => {
    errors = [];
  });

  const post = (body: string | Uint8Array<ArrayBuffer>): Promise<Response> =>
    fetch(`${base}/add-checkpoint`, { method: 'POST', body });
  const held = (): string => `${base}/${originHash(log(0).origin)}/checkpoint`;

  /** The one of two histories that was cosigned, with this size. */
  async function cosigned(size: number): Promise<SmallLog> {
    const seen = await (await fetch(held())).text();
    const [, at] = seen.split('\n');
    const text = (third: string) => log(Number(at), third).note().split('\n\n')[0]!;
    return log(
      size,
      HISTORIES.find((third) => seen.startsWith(text(third))),
    );
  }

  it('has no checkpoint of a log before the first, and none of another', async () => {
    assert.equal((await fetch(held())).status, 404);
    assert.equal((await fetch(`${base}/${'0'.repeat(64)}/checkpoint`)).status, 404);
  });

  it('has no other path and method', async () => {
    const others = ['/', '/add-checkpoint', '/checkpoint', `/${'A'.repeat(64)}/checkpoint`];
    for (const path of others) assert.equal((await fetch(base + path)).status, 404, path);
    assert.equal((await fetch(held(), { method: 'POST', body: 'x' })).status, 404);
  });

  it('gives types and octets exactly, also over one connection', async () => {
    const first = await post(log(1).request(0));
    assert.deepEqual([first.status, first.headers.get('content-type')], [200, 'text/plain; charset=utf-8']);
    const line = await first.text();
    assert.match(line, /^— w\.example\/1 [A-Za-z0-9+/]+=*\n$/);
    assert.equal(await (await fetch(held())).text(), log(1).note() + line);
    const conflict = await post(log(2).request(0));
    assert.deepEqual(
      [conflict.status, conflict.headers.get('content-type'), await conflict.text()],
      [409, 'text/x.tlog.size', '1\n'],
    );
  });

  it('cosigns one of two histories that are asked for at once', async () => {
    const bodies = Array.from({ length: 16 }, (_, i) => log(3, HISTORIES[i % 2]).request(1));
    const answers = await Promise.all(bodies.map(post));
    const statuses = answers.map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 1);
    assert.ok(statuses.every((status) => status === 200 || status === 409));
  });

  it('answers with what other processes read in the database already', async () => {
    const other = new DatabaseSync(join(folder, 'witness.db'), { readOnly: true });
    const root = other.prepare('select size from logs');
    const before = Number(root.get()!.size);
    assert.equal((await post((await cosigned(4)).request(before))).status, 200);
    assert.deepEqual({ ...root.get() }, { size: before + 1 });
    other.close();
  });

  it('reads a body of the largest length, and refuses a longer one with its answer', async () => {
    assert.equal((await post(new Uint8Array(LIMITS.witnessBody))).status, 400);
    assert.equal((await post(new Uint8Array(LIMITS.witnessBody + 1))).status, 413);
  });

  it('says 500, and why to its operator, when the database fails', async () => {
    const other = new DatabaseSync(join(folder, 'witness.db'));
    other.exec("create trigger no before update on logs begin select raise(abort, 'disk full'); end");
    const answer = await post((await cosigned(5)).request(4));
    assert.equal(answer.status, 500);
    assert.doesNotMatch(await answer.text(), /—|full/);
    assert.match(String(errors[0]), /disk full/);
    other.exec('drop trigger no');
    other.close();
  });

  it('bounds connections and their times', async () => {
    assert.equal(server.headersTimeout, LIMITS.witnessRequestMs);
    assert.equal(server.requestTimeout, LIMITS.witnessRequestMs);
    assert.equal(server.keepAliveTimeout, LIMITS.witnessRequestMs);
    assert.equal(server.timeout, LIMITS.witnessRequestMs);
  });

  it('goes on after a client that breaks off its body', async () => {
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    socket.write('POST /add-checkpoint HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nold 0\n');
    await once(socket, 'connect');
    socket.destroy();
    await once(socket, 'close');
    assert.equal((await post('')).status, 400);
    assert.deepEqual(errors, []);
  });
});
