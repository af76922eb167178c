import assert from 'node:assert/strict';
import dnsPacket from 'dns-packet';
import type { Transport } from '../../src/base/network/transport.ts';
import { decodeMessage, encodeQuery } from '../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { TestNode, ZONE } from '../scenarios/node.ts';
import { corpus, mutate, type Rng, seededRng } from '../support/protocol/dns/fuzz.ts';

const TRANSPORTS = ['udp', 'tcp', 'doh'] as const satisfies readonly Transport[];

export interface FuzzReport {
  readonly packets: number;
  readonly answered: number;
  readonly fromCache: number;
}

/**
 * Sends mutated queries to a packet handler. Our decoder and dns-packet must decode every reply. It must have the
 * query's id and fit its transport's size, and must be equal with and without the cache.
 */
export async function fuzzPackets(packets: number, seed: number): Promise<FuzzReport> {
  const rng = seededRng(seed);
  const node = await populatedNode();
  const uncached = await populatedNode();
  const seeds = [...corpus(), ...(await ownQueries(node))];
  const out = Buffer.alloc(65_535);
  let answered = 0;
  let fromCache = 0;
  for (let i = 0; i < packets; i++) {
    const packet = pick(seeds, rng, i);
    const transport = TRANSPORTS[i % TRANSPORTS.length]!;
    const isProven = transport !== 'udp';
    const octets = node.handler.hot(packet, packet.length, transport, out);
    if (octets > 0) fromCache++;
    const reply = octets > 0 ? out.subarray(0, octets) : await node.handler.slow(packet, transport, isProven);
    if (reply === null) continue;
    answered++;
    checkReply(packet, reply, transport, i);
    if (octets > 0) {
      const plain = await uncached.handler.slow(packet, transport, isProven);
      assert.deepEqual(Buffer.from(plain ?? []), Buffer.from(reply), `packet ${i} differs from the cache`);
    }
  }
  return { packets, answered, fromCache };
}

/** Three of four are mutated. The others are sent unchanged, so that the cache gets hits. */
function pick(seeds: readonly Uint8Array[], rng: Rng, i: number): Uint8Array {
  const base = seeds[rng(seeds.length)]!;
  return i % 4 === 0 ? base : mutate(base, rng);
}

function checkReply(packet: Uint8Array, reply: Uint8Array, transport: Transport, i: number): void {
  const about = () => `packet ${i}: ${Buffer.from(packet).toString('hex')}`;
  assert.ok(reply.length >= 12, about());
  assert.ok(reply[0] === packet[0] && reply[1] === packet[1], about());
  assert.ok((reply[2]! & 0x80) !== 0, about());
  assert.ok(transport !== 'udp' || reply.length <= 1232, about());
  assert.ok(decodeMessage(reply) !== null, about());
  try {
    dnsPacket.decode(Buffer.from(reply));
  } catch (error) {
    throw new Error(`${about()} reply ${Buffer.from(reply).toString('hex')}`, { cause: error });
  }
}

async function populatedNode(): Promise<TestNode> {
  const node = new TestNode({ demo: true });
  await node.namespace('open', { publicRead: true });
  await node.namespace('acme');
  await node.token('fuzz', 'acme', 86_400);
  for (const size of [0, 1, 100, 255, 256, 1000, 2586]) {
    await node.record(`r${size}.open.v1`, Buffer.alloc(size, 'x'));
    await node.record(`r${size}.acme.v1`, Buffer.alloc(size, 'x'));
  }
  return node;
}

/** Queries for existing records, so that mutations stay near names with answers. */
async function ownQueries(node: TestNode): Promise<Uint8Array[]> {
  const token = await node.token('fuzz', 'acme', 86_400);
  const names = [100, 1000, 2586].flatMap((size) => [
    `get.r${size}.open.v1`,
    `get.auth-${token}.r${size}.acme.v1`,
  ]);
  return [...names, 'get.hello.playground.v1', 'open.v1', 'ns1'].flatMap((name, i) =>
    [null, 512, 1232, 4096].map((payload) =>
      encodeQuery(nameFromText(`${name}.${ZONE}`)!, 16, {
        id: i,
        rd: true,
        edns: payload === null ? null : { payload, dnssecOk: i % 2 === 0 },
      }),
    ),
  );
}
