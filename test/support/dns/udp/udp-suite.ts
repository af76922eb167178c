/** What every listener for UDP must do: two implementations of one port share this suite. */

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { describe, type TestOptions, test } from 'node:test';
import { queueShare } from '../../../../src/dns/shared/listener.ts';
import { createRateMemory, makeRateLimits } from '../../../../src/dns/shared/rate-limit.ts';
import type { Fate, ReplyLimiter, UdpOptions } from '../../../../src/dns/udp/replies.ts';
import { decodeMessage } from '../../../../src/protocol/dns/message/message.ts';
import {
  DNS_LIMITS,
  echo,
  ednsQuery,
  header,
  idOf,
  labelOf,
  makeGate,
  option,
  optionsOf,
  query,
  setting,
  until,
} from '../fakes.ts';
import { CLIENT, clock, cookies, type ListenUdp, type Scenario, textOf, withListener } from './udp-peer.ts';
import { proxyTests } from './udp-proxy-suite.ts';

/** Some containers have no IPv6 at all. */
function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address === '::1'),
  );
}

/** @param listen the implementation; each of its listeners is closed at the end */
export function udpSuite(name: string, listen: ListenUdp, options: TestOptions = {}): void {
  const withUdp = (given: UdpOptions, scenario: Scenario): Promise<void> =>
    withListener(listen, given, scenario);

  describe(name, options, () => {
    test('hot, slow and late answers reach the one who asked', async () => {
      const options = setting();
      await withUdp(options, async ({ replies, send }) => {
        for (const [id, label] of ['hot1', 'echo', 'wait', 'fail'].entries()) send(query(id, label));
        await until(() => replies.length === 3);
        options.handler.gate.open();
        await until(() => replies.length === 4);
        assert.deepEqual(replies.map((reply) => `${idOf(reply)} ${labelOf(reply)} ${reply[3]}`).sort(), [
          '0 hot1 0',
          '1 echo 0',
          '2 wait 0',
          '3 fail 2',
        ]);
        assert.equal(options.observe.count('udp reply 0'), 3);
        assert.equal(options.observe.count('udp reply 2'), 1);
      });
    });

    test('a burst of hot queries of different lengths comes back octet for octet', async () => {
      const options = setting();
      await withUdp(options, async ({ replies, send }) => {
        const queries = Array.from({ length: 300 }, (_, id) => query(id, `hot${'x'.repeat(id % 50)}`));
        for (const each of queries) send(each);
        await until(() => replies.length === queries.length);
        const byId = new Map(replies.map((reply) => [idOf(reply), reply]));
        for (const [id, each] of queries.entries()) assert.deepEqual(byId.get(id), echo(each));
      });
    });

    test('silence for what is no query; a handler that throws costs one packet', async () => {
      const options = setting();
      await withUdp(options, async ({ replies, send }) => {
        send(Buffer.alloc(0));
        send(header(1, 0, 0).subarray(0, 11));
        send(query(2, 'mute'));
        send(query(3, 'throw'));
        send(query(4, 'reject'));
        send(query(5, 'echo'));
        await until(() => replies.length > 0 && options.faults.length === 2);
        assert.deepEqual(replies.map(idOf), [5]);
        assert.equal(options.observe.count('udp malformed'), 3);
      });
    });

    test('the limiter may cut a reply down or drop it, and is told the address', async () => {
      const options = setting();
      const seen: string[] = [];
      const fate = (label: string): Fate =>
        label.endsWith('drop') ? 'drop' : label.endsWith('slip') ? 'slip' : 'pass';
      const limiter: ReplyLimiter = {
        screen: (address) => {
          seen.push(textOf(address));
          return 'pass';
        },
        admit: (address, reply) => {
          seen.push(textOf(address));
          return fate(labelOf(reply));
        },
      };
      await withUdp({ ...options, limiter }, async ({ replies, send }) => {
        const labels = ['hotdrop', 'drop', 'hotslip', 'slip', 'hot', 'echo'];
        for (const [id, label] of labels.entries()) send(query(id, label));
        await until(() => replies.length === 4 && options.observe.count('dropped') === 2);
        assert.deepEqual(replies.map((reply) => `${idOf(reply)} ${decodeMessage(reply)!.tc}`).sort(), [
          '2 true',
          '3 true',
          '4 false',
          '5 false',
        ]);
        assert.deepEqual(new Set(seen), new Set(['127.0.0.1']));
        assert.equal(options.observe.count('slipped'), 2);
      });
    });

    test('a source that has spent its budget gets no work: half TC, half silence (security finding 1)', async () => {
      const options = setting();
      const limiter = makeRateLimits({ ...DNS_LIMITS, memory: createRateMemory(), responses: 4, clock }).udp;
      await withUdp({ ...options, clock, cookies, limiter }, async ({ replies, send }) => {
        for (let id = 0; id < 4; id++) send(query(id, `size10${id}`));
        await until(() => replies.length === 4);
        for (let id = 10; id < 30; id++) send(ednsQuery(id, `size1${id}`, { dnssecOk: true }));
        await until(() => options.observe.count('dropped') === 10 && replies.length === 14);
        assert.equal(options.handler.asked.length, 4, 'the handler is not asked');
        assert.equal(options.observe.count('slipped'), 10);
        for (const reply of replies.slice(4)) {
          const { tc, qr, answer, question, edns } = decodeMessage(reply)!;
          assert.deepEqual(
            [tc, qr, answer.length, question.length, edns?.dnssecOk],
            [true, true, 0, 1, true],
          );
        }
        // A valid cookie exempts, and the handler is told.
        send(ednsQuery(40, 'size140', { options: [option(10, CLIENT)] }));
        send(ednsQuery(41, 'size141', { options: [option(10, CLIENT)] }));
        await until(() => replies.length === 15);
        const cookie = optionsOf(replies[14]!)[0]!.split(':')[1]!;
        send(ednsQuery(42, 'size142', { options: [option(10, cookie)] }));
        await until(() => replies.length === 16);
        assert.equal(decodeMessage(replies[15]!)!.tc, false);
        assert.deepEqual(options.handler.proven, [false, false, false, false, true]);
        assert.deepEqual(options.handler.shares, Array(5).fill(queueShare('127.0.0.1')));
      });
    });

    test('what the cache answers is answered before any work for what it does not', async () => {
      const options = setting();
      await withUdp(options, async ({ replies, send }) => {
        // Binds the socket, so that all later packets are sent in one tick and wait for the server.
        send(query(99, 'hot'));
        await until(() => replies.length === 1);
        for (let id = 1; id <= 20; id++) send(query(id, id <= 15 ? 'echo' : 'hot'));
        await until(() => replies.length === 21);
        assert.deepEqual(options.handler.asked.slice(1), [
          ...Array.from({ length: 5 }, () => 'hot'),
          ...Array.from({ length: 15 }, () => 'echo'),
        ]);
        assert.deepEqual(
          replies.slice(1).map(idOf),
          [16, 17, 18, 19, 20, ...Array.from({ length: 15 }, (_, i) => i + 1)],
          'hits first, then the oldest miss',
        );
      });
    });

    test('a question whose name has no signature left gets TC at once, but with a valid cookie it gets its answer', async () => {
      const options = setting();
      options.handler.isSpent = (request, length) => labelOf(request.subarray(0, length)).startsWith('spent');
      await withUdp({ ...options, cookies }, async ({ replies, send }) => {
        send(query(1, 'spent1'));
        send(ednsQuery(2, 'spent2', { options: [option(10, CLIENT)] }));
        await until(() => replies.length === 2);
        for (const reply of replies) {
          const { tc, aa, question, answer } = decodeMessage(reply)!;
          assert.deepEqual([tc, aa, question.length, answer.length], [true, true, 1, 0]);
        }
        assert.deepEqual(options.handler.asked, []);
        assert.equal(options.observe.count('udp reply 0'), 2);
        const cookie = optionsOf(replies.find((reply) => idOf(reply) === 2)!)[0]!.split(':')[1]!;
        send(ednsQuery(3, 'spent3', { options: [option(10, cookie)] }));
        await until(() => replies.length === 3);
        assert.equal(decodeMessage(replies[2]!)!.tc, false);
        assert.deepEqual([options.handler.asked, options.handler.proven], [['spent3'], [true]]);
      });
    });

    test('a cookie is answered with a server cookie, on replies from the cache and others', async () => {
      const options = setting();
      await withUdp({ ...options, cookies }, async ({ replies, send }) => {
        for (const label of ['hot100', 'size100', 'size100', 'size505']) {
          send(ednsQuery(1, label, { payload: 512, options: [option(10, CLIENT)] }));
        }
        await until(() => replies.length === 4);
        for (const reply of replies)
          assert.match(optionsOf(reply).join(), new RegExp(`^10:${CLIENT}01000000`));
        assert.equal(replies.filter((reply) => decodeMessage(reply)!.tc).length, 1);
        send(ednsQuery(1, 'size100'));
        await until(() => replies.length === 5);
        assert.deepEqual(optionsOf(replies[4]!), [], 'the shared reply is as it was');
        assert.deepEqual(options.faults, []);
      });
    });

    test('over the rate replies are dropped or cut down, but for a client with a valid cookie', async () => {
      const options = setting();
      const limiter = makeRateLimits({ ...DNS_LIMITS, memory: createRateMemory(), responses: 3, clock }).udp;
      await withUdp({ ...options, clock, cookies, limiter }, async ({ replies, send }) => {
        for (let id = 0; id < 9; id++) {
          send(ednsQuery(id, id % 2 === 0 ? 'hot100' : `size10${id}`));
          await until(() => replies.length + options.observe.count('dropped') === id + 1);
        }
        assert.deepEqual(
          replies.map((reply) => decodeMessage(reply)!.tc),
          [false, false, false, true, true, true],
        );
        // A truncated reply holds a cookie; with it the client is exempt.
        send(ednsQuery(20, 'hot100', { options: [option(10, CLIENT)] }));
        send(ednsQuery(21, 'hot100', { options: [option(10, CLIENT)] }));
        await until(() => replies.length === 7);
        assert.equal(decodeMessage(replies[6]!)!.tc, true);
        const cookie = optionsOf(replies[6]!)[0]!.split(':')[1]!;
        for (let id = 30; id < 36; id++) send(ednsQuery(id, 'hot100', { options: [option(10, cookie)] }));
        await until(() => replies.length === 13);
        assert.ok(replies.slice(7).every((reply) => !decodeMessage(reply)!.tc));
        assert.equal(options.observe.count('udp reply 0'), 13);
      });
    });

    proxyTests(withUdp);

    test('at most so many queries wait at one time, of one name half', async () => {
      const options = setting();
      await withUdp({ ...options, inFlight: 6 }, async ({ replies, send }) => {
        for (let id = 0; id < 5; id++) send(query(id, 'wait'));
        send(query(9, 'hot'));
        await until(() => replies.length === 1);
        assert.equal(options.handler.asked.filter((label) => label === 'wait').length, 3);
        options.handler.gate.open();
        await until(() => replies.length === 4);
        options.handler.gate = makeGate();
        send(query(10, 'echo'));
        await until(() => replies.length === 5);
      });
    });

    test('IPv6, and both families on ::', { skip: !hasIpv6() }, async () => {
      const options = setting('::');
      await withUdp(options, async ({ replies, send }, listener) => {
        send(query(1, 'hot'));
        await until(() => replies.length === 1);
        const other = createSocket('udp4');
        const answered = once(other, 'message');
        other.send(query(2, 'hot'), listener.address.port, '127.0.0.1');
        const [reply] = (await answered) as [Buffer];
        assert.equal(idOf(reply), 2);
        other.close();
      });
    });

    for (const [host, asked] of [
      ['0.0.0.0', ['127.0.0.1', '127.0.0.2']],
      ['::', ['::1', '127.0.0.2', '127.0.0.1']],
    ] as const) {
      test(`on ${host}, a reply leaves from the address that was asked, whenever it comes (RFC 2181 section 4.1)`, {
        skip: host === '::' && !hasIpv6(),
      }, async () => {
        const options = setting(host);
        const limiter: ReplyLimiter = {
          screen: () => 'pass',
          admit: (_address, reply) => (labelOf(reply).endsWith('slip') ? 'slip' : 'pass'),
        };
        const labels = ['hot', 'echo', 'wait', 'hotslip', 'slip'];
        await withUdp({ ...options, limiter }, async (_peer, { address: { port } }) => {
          const replies: string[] = [];
          const clients = asked.map((address) => {
            const client = createSocket(address.includes(':') ? 'udp6' : 'udp4');
            client.on('message', (reply, from) =>
              replies.push(`${address} ${labelOf(reply)}: ${from.address}`),
            );
            for (const [id, label] of labels.entries()) client.send(query(id, label), port, address);
            return client;
          });
          await until(() => replies.length === asked.length * (labels.length - 1));
          options.handler.gate.open();
          await until(() => replies.length === asked.length * labels.length);
          for (const client of clients) client.close();
          assert.deepEqual(
            replies.sort(),
            asked.flatMap((address) => labels.map((label) => `${address} ${label}: ${address}`)).sort(),
          );
        });
      });
    }

    test('closing waits for what is in flight, and no longer than the grace', async () => {
      const options = setting();
      await withUdp(options, async ({ replies, send }, listener) => {
        send(query(1, 'wait'));
        await until(() => options.handler.asked.length === 1);
        const closed = listener.close(60_000);
        options.handler.gate.open();
        await closed;
        await until(() => replies.length === 1);
      });
      const late = setting();
      await withUdp(late, async ({ send }, listener) => {
        send(query(1, 'wait'));
        await until(() => late.handler.asked.length === 1);
        await listener.close(1);
        late.handler.gate.open();
        await new Promise(setImmediate);
        assert.deepEqual(late.faults, []);
      });
    });

    test('two listeners share a port with reusePort, and not without', async () => {
      const first = await listen({ ...setting(), reusePort: true });
      const second = await listen({ ...setting(), reusePort: true, port: first.address.port });
      assert.equal(second.address.port, first.address.port);
      await assert.rejects(listen({ ...setting(), port: first.address.port }), { code: 'EADDRINUSE' });
      await Promise.all([first.close(0), second.close(0)]);
    });
  });
}
