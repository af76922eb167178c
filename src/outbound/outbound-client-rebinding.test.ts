import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type DnsAnswer, startDnsServer } from '../../test/support/outbound/dns-server.ts';
import {
  ANSWER,
  HOST,
  type Peer,
  ROOT_PEM,
  type Side,
  says,
  startTls,
} from '../../test/support/outbound/peer.ts';
import { makeResolve } from './connection.ts';
import { createOutboundClient, type OutboundClient } from './outbound-client.ts';
import type { OutboundFault } from './request.ts';

/** What stands for a public address here, and for a private one; both are loopback, and one port is served on both. */
const VETTED = '127.0.0.2';
const PRIVATE = '127.0.0.1';

/** Answers to the first lookup, the second and so on, and what becomes of the attempt that asked for each. */
const ATTEMPTS: readonly [answers: readonly string[], expected: OutboundFault | number][] = [
  [[VETTED], 200],
  [[PRIVATE], 'blocked_address'],
  [[VETTED], 200],
  [[VETTED, PRIVATE], 'blocked_address'],
  [[PRIVATE, VETTED], 'blocked_address'],
  [[], 'dns_failure'],
  [[VETTED], 200],
];

interface Scene {
  readonly vetted: Peer;
  readonly other: Peer;
  readonly client: OutboundClient;
  readonly asked: string[];
  /** The name in every ClientHello. */
  readonly names: unknown[];
  close(): void;
}

/** @param answers addresses told to the nth lookup, from 0 */
async function openScene(answers: (nth: number) => readonly string[]): Promise<Scene> {
  const names: unknown[] = [];
  const serve = (side: Side): void => {
    side.secure.once('secure', () => names.push(Reflect.get(side.secure, 'servername')));
    says(ANSWER)(side);
  };
  const [vetted, other] = await startPair(serve);
  let lookups = 0;
  const dns = await startDnsServer((type) => {
    if (type !== 'A') return [];
    return answers(lookups++).map((data): DnsAnswer => ({ type: 'A', data }));
  });
  const client = createOutboundClient({
    policy: { allows: () => true, admits: (_url, address) => address === VETTED },
    resolve: makeResolve([dns.address]),
    deadlineMs: 20_000,
    ca: ROOT_PEM,
  });
  const close = (): void => {
    for (const one of [vetted, other, dns]) one.close();
  };
  return { vetted, other, client, asked: dns.asked, names, close };
}

/** The same port on both addresses; a port that is free on one may be taken on the other. */
async function startPair(serve: (side: Side) => void): Promise<[vetted: Peer, other: Peer]> {
  for (let left = 10; ; left--) {
    const vetted = await startTls(serve, undefined, undefined, VETTED);
    try {
      return [vetted, await startTls(serve, undefined, undefined, PRIVATE, vetted.port)];
    } catch (error) {
      vetted.close();
      if (left === 0) throw error;
    }
  }
}

async function attempt({ client, vetted }: Scene): Promise<OutboundFault | number> {
  const url = new URL(`https://${HOST}:${vetted.port}/`);
  const result = await client({ method: 'POST', url, headers: {}, body: Buffer.from('{}'), maxBytes: 0 });
  return result.kind === 'failed' ? result.fault : result.status;
}

describe('an outbound client under rebinding', () => {
  it('connects only to the address that was checked, and resolves again for every attempt', async () => {
    const scene = await openScene((nth) => ATTEMPTS[nth]?.[0] ?? []);
    const { vetted, other, asked, names } = scene;
    try {
      let connections = 0;
      for (const [n, [answers, expected]] of ATTEMPTS.entries()) {
        const label = `attempt ${n}: ${answers.join(' ')}`;
        asked.length = 0;
        assert.equal(await attempt(scene), expected, label);
        if (expected === 200) connections++;
        assert.deepEqual(asked.toSorted(), [`A ${HOST}`, `AAAA ${HOST}`], label);
        assert.equal(vetted.count(), connections, label);
        assert.equal(other.count(), 0, label);
      }
      assert.deepEqual(new Set(names), new Set([HOST]));
      await vetted.idle();
    } finally {
      scene.close();
    }
  });

  it('is not moved by an answer that changes as soon as it was given', async () => {
    const scene = await openScene((nth) => (nth === 0 ? [VETTED] : [PRIVATE]));
    try {
      assert.equal(await attempt(scene), 200);
      assert.equal(scene.asked.filter((question) => question.startsWith('A ')).length, 1);
      assert.deepEqual([scene.vetted.count(), scene.other.count()], [1, 0]);
      assert.equal(await attempt(scene), 'blocked_address');
      assert.deepEqual([scene.vetted.count(), scene.other.count()], [1, 0]);
    } finally {
      scene.close();
    }
  });

  it('would reach the private one if the policy let it', async () => {
    // Without this the tests above prove nothing.
    const scene = await openScene(() => [PRIVATE]);
    try {
      const client = createOutboundClient({
        policy: { allows: () => true, admits: () => true },
        resolve: async () => [PRIVATE],
        deadlineMs: 20_000,
        ca: ROOT_PEM,
      });
      assert.equal(await attempt({ ...scene, client }), 200);
      assert.deepEqual([scene.vetted.count(), scene.other.count()], [0, 1]);
    } finally {
      scene.close();
    }
  });
});
