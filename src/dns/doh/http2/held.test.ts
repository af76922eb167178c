import assert from 'node:assert/strict';
import * as http2 from 'node:http2';
import { describe, test } from 'node:test';
import { DNS, get, tls, withDoh } from '../../../../test/support/dns/doh/doh-clients.ts';
import {
  getOf,
  headers,
  Peer,
  rst,
  settings,
  windowUpdate,
} from '../../../../test/support/dns/doh/http2/peer.ts';
import { query, until } from '../../../../test/support/dns/fakes.ts';
import { createHeldOctets } from '../../../base/lifecycle/held-octets.ts';
import { LIMITS } from '../../../base/limits.ts';
import { SETTING } from './frames.ts';

const EACH = 10_000;

/** Asks for a reply of `EACH` octets on a stream, and takes none of it. */
function ask(peer: Peer, streamId: number): void {
  peer.send(headers(streamId, getOf(`/size/${EACH}`)));
}

describe('replies that peers do not take', () => {
  test('are counted for all connections together, until they are taken, reset or their connection ends', () => {
    const held = createHeldOctets(10 * EACH);
    const open = (): Peer => new Peer({ held }).send(settings([SETTING.initialWindowSize, 0]));
    const [one, other] = [open(), open()];
    for (const streamId of [1, 3, 5]) ask(one, streamId);
    ask(other, 1);
    assert.equal(held.total, 4 * EACH);
    one.send(windowUpdate(1, 1000));
    assert.equal(held.total, 4 * EACH - 1000);
    one.send(rst(1));
    assert.equal(held.total, 3 * EACH);
    one.send(windowUpdate(3, EACH));
    assert.equal(held.total, 2 * EACH);
    one.connection.closed();
    assert.equal(held.total, EACH);
    other.connection.abort();
    assert.equal(held.total, 0);
  });

  test('of a peer whose socket takes nothing count while it is stalled', () => {
    const held = createHeldOctets(10 * EACH);
    const peer = new Peer({ held });
    peer.full = true;
    ask(peer, 1);
    assert.ok(held.total > EACH, String(held.total));
    peer.full = false;
    peer.connection.drained();
    assert.equal(held.total, 0);
  });

  test('above the bound the network that holds most loses its fullest connection, whoever asks', () => {
    const held = createHeldOctets(8 * EACH);
    const open = (address: string): Peer =>
      new Peer({ held, address }).send(settings([SETTING.initialWindowSize, 0]));
    // The first two are one site.
    const peers = ['2001:db8:1::1', '2001:db8:1:2::1', '2001:db8:2::1', '192.0.2.7'].map(open);
    for (const [index, replies] of [2, 3, 2, 1].entries())
      for (let i = 0; i < replies; i++) ask(peers[index]!, 2 * i + 1);
    assert.equal(held.total, 8 * EACH);
    assert.ok(peers.every(({ destroyed }) => !destroyed));
    ask(peers[3]!, 3);
    assert.deepEqual(
      peers.map(({ destroyed }) => destroyed),
      [false, true, false, false],
    );
    assert.equal(held.total, 6 * EACH);
    // The connection itself may be the one.
    for (let i = 1; i <= 3; i++) ask(peers[2]!, 2 * i + 3);
    assert.deepEqual([peers[2]!.destroyed, held.total], [true, 4 * EACH]);
    assert.deepEqual(
      peers.flatMap(({ broken }) => broken),
      [],
    );
  });

  test('a listener holds 16 MiB for clients that take nothing; above it one of their connections ends, and others are served', async () => {
    await withDoh({}, async ({ options, listener, clients }) => {
      const body = Buffer.concat([query(0, 'echo')], LIMITS.dnsMessage);
      const streams = 8;
      const fit = Math.floor(LIMITS.dohUnsentOctets / (streams * body.length));
      const sessions: http2.ClientHttp2Session[] = [];
      const head = { ':method': 'POST', ':path': '/dns-query', 'content-type': DNS };
      const open = async (): Promise<void> => {
        const session = http2.connect(`https://localhost:${listener.address.port}`, {
          ca: tls.cert,
          settings: { initialWindowSize: 0 },
        });
        sessions.push(session.on('error', () => {}));
        let heads = 0;
        for (let i = 0; i < streams; i++) {
          const stream = session.request(head).on('error', () => {});
          stream.once('response', () => heads++);
          stream.end(body);
        }
        await until(() => heads === streams || session.closed);
      };
      for (let i = 0; i < fit; i++) await open();
      assert.equal((await clients.h2({ path: get('hot') })).status, 200);
      assert.equal(options.observe.count('doh closed'), 0);
      await open();
      await until(() => options.observe.count('doh closed') === 1);
      assert.equal((await clients.h2({ path: get('hot') })).status, 200);
      assert.equal(options.observe.count('doh closed'), 1);
      assert.deepEqual(options.faults, []);
      for (const session of sessions) session.destroy();
    });
  });
});
