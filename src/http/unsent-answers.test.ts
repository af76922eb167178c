import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { openWorld, type World } from '../../test/support/http/world.ts';
import { sqliteDatabase } from '../../test/support/store/sqlite.ts';
import { createHeldOctets, type HeldOctets } from '../base/lifecycle/held-octets.ts';
import { LIMITS } from '../base/limits.ts';
import type { Store } from '../store/store.ts';
import type { Actor } from './actor.ts';

/**
 * Octets of an answer that the buffers of both systems do not take: of a client that reads nothing a part of it stays here. Four of them
 * leave room for what small answers have, and not for `MORE`.
 */
const LARGE = LIMITS.unsentOctets / 4 - 8192;
const MORE = 65_536;
/** No header has this letter. */
const LETTER = '~';
const CODE = LETTER.charCodeAt(0);

interface Client {
  /** The server's end. */
  readonly end: Socket;
  /** Reads until so many octets of bodies have come, or the connection is closed. @returns octets that came */
  read(octets: number): Promise<number>;
  leave(): void;
}

describe('answers that the system has not taken', () => {
  let world: World;
  let store: Store;
  let database: Awaited<ReturnType<typeof sqliteDatabase>>;
  let port: number;
  let held: HeldOctets;
  /** Persons whose answers were begun, in order. */
  let begun: string[];
  /** Closed: an answer waits for it. */
  let gate: Promise<void>;
  const clients: Client[] = [];

  beforeEach(async () => {
    database = await sqliteDatabase();
    store = await database.open();
    held = createHeldOctets(LIMITS.unsentOctets);
    world = await openWorld(store, { unsent: held });
    begun = [];
    gate = Promise.resolve();
    world.app.get('/text/:person/:octets', async (request, reply) => {
      const { person, octets } = request.params as { person: string; octets: string };
      begun.push(person);
      await gate;
      request.actor = { personId: person } as Actor;
      return reply.type('text/plain').send(LETTER.repeat(Number(octets)));
    });
    await world.app.listen({ host: '127.0.0.1', port: 0 });
    port = (world.app.server.address() as AddressInfo).port;
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.leave();
    await world.close();
    await store.close();
    await database.drop();
  });

  /** Asks for answers without waiting for one, and reads nothing. */
  async function ask(person: string, octets: number, times = 1): Promise<Client> {
    const socket = connect(port, '127.0.0.1');
    const [end] = (await once(world.app.server, 'connection')) as [Socket];
    socket.pause();
    let came = 0;
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      for (const octet of chunk) if (octet === CODE) came++;
    });
    const closed = once(socket, 'close');
    socket.write(`GET /text/${person}/${octets} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(times));
    const client: Client = {
      end,
      async read(count) {
        socket.resume();
        while (came < count && !socket.destroyed) await Promise.race([once(socket, 'data'), closed]);
        socket.pause();
        return came;
      },
      leave: () => void socket.destroy(),
    };
    clients.push(client);
    return client;
  }

  /** Waits until so many answers were begun, and then for an answer to another client: what is to begin with them has begun. */
  async function until(count: number): Promise<void> {
    while (begun.length < count) await once(world.app.server, 'request');
    for (let i = 0; i < 3; i++) {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/me`);
      assert.equal(answer.status, 401);
      await answer.text();
    }
  }

  test('a connection that reads nothing holds one answer, however much it asks for; when it reads, all come', async () => {
    const client = await ask('a', LARGE, 3);
    await until(1);
    assert.deepEqual([begun.length, held.total], [1, LARGE]);
    await client.read(LARGE + 1);
    await until(2);
    assert.deepEqual([begun.length, held.total], [2, LARGE]);
    assert.equal(await client.read(3 * LARGE), 3 * LARGE);
    await until(3);
    assert.deepEqual([begun.length, held.total, client.end.destroyed], [3, 0, false]);
  });

  test('a process holds 64 MiB; above it who holds most loses a connection, and the others get their whole answers', async () => {
    const persons = ['one', 'heavy', 'heavy', 'other'];
    for (const person of persons) await ask(person, LARGE);
    const [one, heavy, lighter, other] = clients;
    await until(persons.length);
    assert.equal(held.total, persons.length * LARGE);
    assert.ok(clients.every(({ end }) => !end.destroyed));

    const newcomer = await ask('newcomer', MORE);
    assert.equal(await newcomer.read(MORE), MORE);
    assert.deepEqual(
      clients.map(({ end }) => end.destroyed),
      [false, true, false, false, false],
    );
    assert.notEqual(await heavy!.read(LARGE), LARGE);
    for (const client of [one, lighter, other]) assert.equal(await client!.read(LARGE), LARGE);
    await until(0);
    assert.equal(held.total, 0);
  });

  test('who asks for most may be the one whose answer is not sent', async () => {
    const first = await ask('a', LARGE);
    await until(1);
    const second = await ask('b', LIMITS.unsentOctets - LARGE + 1);
    await second.read(1);
    assert.deepEqual([held.total, first.end.destroyed, second.end.destroyed], [LARGE, false, true]);
    assert.deepEqual(world.errors, []);
  });

  test('an answer whose client has gone is not counted, be it made before or after', async () => {
    const made = await ask('a', LARGE);
    await until(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const waiting = await ask('a', LARGE);
    await until(2);
    assert.equal(held.total, LARGE);
    const gone = [made, waiting].map(({ end }) => new Promise((resolve) => end.once('close', resolve)));
    for (const client of [made, waiting]) client.leave();
    await Promise.all(gone);
    resolve();
    await until(2);
    assert.equal(held.total, 0);
  });
});
