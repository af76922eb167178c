/** What every listener for UDP must do behind a proxy that sends PROXY headers: part of `udpSuite`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressSet } from '../../../../src/base/network/address.ts';
import { queueShare } from '../../../../src/dns/shared/listener.ts';
import { createRateMemory, makeRateLimits } from '../../../../src/dns/shared/rate-limit.ts';
import type { ReplyLimiter, UdpOptions } from '../../../../src/dns/udp/replies.ts';
import { decodeMessage } from '../../../../src/protocol/dns/message/message.ts';
import { DNS_LIMITS, ednsQuery, idOf, option, optionsOf, query, setting, until } from '../fakes.ts';
import { headerOf, proxyHeader, tlv } from '../proxy.ts';
import { CLIENT, clock, cookies, type Scenario, textOf } from './udp-peer.ts';

/** @param withUdp runs a scenario with a listener of the implementation */
export function proxyTests(withUdp: (given: UdpOptions, scenario: Scenario) => Promise<void>): void {
  test('behind a proxy the limits count the client that its header names, for hits and for the rest', async () => {
    const options = setting();
    const limiter = makeRateLimits({ ...DNS_LIMITS, memory: createRateMemory(), responses: 2, clock }).udp;
    const proxies = addressSet(['127.0.0.1']);
    await withUdp({ ...options, clock, cookies, limiter, proxies }, async ({ replies, send }) => {
      const ask = (client: string, label: string): void =>
        send(Buffer.concat([proxyHeader(client, tlv(0xe0, Buffer.alloc(9)), 2), query(1, label)]));
      for (const label of ['hot', 'echo']) {
        const before = replies.length;
        const dropped = options.observe.count('dropped');
        const [flood, other, third] = label === 'hot' ? [1, 2, 3] : [4, 5, 6];
        for (let i = 0; i < 6; i++) ask(`192.0.${flood}.${i}`, label);
        await until(() => options.observe.count('dropped') === dropped + 2 && replies.length === before + 4);
        for (const client of [`192.0.${other}.1`, `::ffff:192.0.${third}.1`, `2001:db8:${flood}::1`])
          ask(client, label);
        await until(() => replies.length === before + 7);
        assert.deepEqual(
          replies.slice(before).map((reply) => decodeMessage(reply)!.tc),
          [false, false, true, true, false, false, false],
        );
      }
      assert.deepEqual(new Set(options.handler.asked), new Set(['hot', 'echo']));
      assert.deepEqual(options.handler.shares, [
        ...['192.0.4.0', '192.0.4.1', '192.0.5.1', '192.0.6.1', '2001:db8:4::1'].map((client) =>
          queueShare(client),
        ),
      ]);
    });
  });

  test('behind a proxy a cookie is valid for its client alone, and replies have no header', async () => {
    const options = setting();
    const limiter = makeRateLimits({ ...DNS_LIMITS, memory: createRateMemory(), responses: 1, clock }).udp;
    const proxies = addressSet(['127.0.0.1']);
    await withUdp({ ...options, clock, cookies, limiter, proxies }, async ({ replies, send }) => {
      const ask = async (client: string, label: string, cookie: string): Promise<Buffer> => {
        const before = replies.length;
        send(Buffer.concat([proxyHeader(client), ednsQuery(7, label, { options: [option(10, cookie)] })]));
        await until(() => replies.length > before);
        return replies.at(-1)!;
      };
      const first = await ask('192.0.2.1', 'hot100', CLIENT);
      assert.equal(idOf(first), 7);
      const own = optionsOf(first)[0]!.split(':')[1]!;
      cookies.check(Buffer.from(CLIENT, 'hex'), 8, '192.0.2.1');
      assert.equal(own, Buffer.from(cookies.response).toString('hex'), 'made for the client');
      for (const label of ['hot100', 'size100', 'hot100'])
        assert.equal(decodeMessage(await ask('192.0.2.1', label, own))!.tc, false, 'exempt');
      assert.equal(decodeMessage(await ask('198.51.100.1', 'size100', own))!.tc, false, 'the first one');
      assert.equal(decodeMessage(await ask('192.0.2.1', 'size100', own))!.tc, false);
      assert.deepEqual(options.handler.proven, [true, false, true]);
    });
  });

  test('a late answer counts for the client that asked, whoever has asked since', async () => {
    const options = setting();
    const seen: string[] = [];
    const screened = new Set<string>();
    const limiter: ReplyLimiter = {
      screen: (address) => {
        screened.add(textOf(address));
        return 'pass';
      },
      admit: (address) => {
        seen.push(textOf(address));
        return 'pass';
      },
    };
    const proxies = addressSet(['127.0.0.1']);
    await withUdp({ ...options, limiter, proxies }, async ({ replies, send }) => {
      send(Buffer.concat([proxyHeader('192.0.2.1'), query(1, 'wait')]));
      await until(() => options.handler.asked.length === 1);
      send(Buffer.concat([proxyHeader('198.51.100.7'), query(2, 'hot')]));
      await until(() => replies.length === 1);
      options.handler.gate.open();
      await until(() => replies.length === 2);
      assert.deepEqual(seen, ['198.51.100.7', '192.0.2.1']);
      assert.deepEqual([...screened], ['192.0.2.1']);
    });
  });

  test('a proxy must send a header; from anyone else a header is no query', async () => {
    const options = setting();
    const proxies = addressSet(['127.0.0.1']);
    await withUdp({ ...options, proxies }, async ({ replies, send }) => {
      const header = proxyHeader('192.0.2.1');
      send(query(1, 'hot'));
      send(Buffer.from('PROXY UDP4 192.0.2.1 192.0.2.2 4711 53\r\n'));
      send(header.subarray(0, 27));
      send(Buffer.alloc(0));
      await until(() => options.observe.count('udp malformed') === 4);
      send(header);
      await until(() => options.observe.count('udp malformed') === 5);
      send(Buffer.concat([headerOf({ command: 0x20, family: 0, block: Buffer.alloc(0) }), query(2, 'echo')]));
      await until(() => replies.length === 1);
      assert.deepEqual(replies.map(idOf), [2]);
      assert.deepEqual(options.handler.shares, [queueShare('127.0.0.1')], 'LOCAL: the proxy itself asks');
    });
    const others = setting();
    await withUdp({ ...others, proxies: addressSet(['192.0.2.0/24', '::/0']) }, async ({ replies, send }) => {
      const whole = Buffer.concat([proxyHeader('198.51.100.1'), query(1, 'echo')]);
      send(whole);
      send(query(2, 'echo'));
      await until(() => replies.length === 2);
      assert.deepEqual(replies.map(idOf), [0x0d0a, 2]);
      assert.equal(others.handler.asked.filter((label) => label === 'echo').length, 1);
    });
  });
}
