import assert from 'node:assert/strict';
import type { Tag } from '../../../../src/dns/accounting/tag.ts';
import type { PacketCache } from '../../../../src/dns/query/packet-cache.ts';
import { finish } from '../../../../src/dns/query/reply.ts';
import { writeReply } from '../../../../src/dns/query/write-reply.ts';
import { makeZone, unsignedZone } from '../../../../src/dns/query/zones.ts';
import { encodeQuery } from '../../../../src/protocol/dns/message/message.ts';
import { decodeRequest, isRequestFault } from '../../../../src/protocol/dns/message/request.ts';
import { nameFromText } from '../../../../src/protocol/dns/name.ts';

const ZONE = unsignedZone(makeZone('uqrp.net', [{ label: 'ns1', addresses: ['192.0.2.1'] }]));
export const VALID = {
  from: 0,
  until: 1000,
  namespaceStripe: 1,
  namespaceCount: 0,
  keyStripe: 2,
  keyCount: 0,
};

interface Asked {
  readonly name?: string;
  readonly id?: number;
  readonly rd?: boolean;
  readonly cd?: boolean;
  readonly qtype?: number;
  readonly edns?: {
    payload?: number;
    dnssecOk?: boolean;
    version?: number;
    options?: { code: number; data: Uint8Array }[];
  };
}

export function query(asked: Asked = {}): Uint8Array {
  const { name = 'get.a.b.v1.uqrp.net', id = 7, rd = true, cd = false, qtype = 16, edns } = asked;
  return encodeQuery(nameFromText(name)!, qtype, {
    id,
    rd,
    cd,
    edns: edns === undefined ? null : { payload: 1232, dnssecOk: false, ...edns },
  });
}

/** Stores a reply with a TXT record of `size` octets. */
export function store(
  cache: PacketCache,
  packet: Uint8Array,
  size = 10,
  validity = VALID,
  tag: Tag | null = null,
): void {
  const request = decodeRequest(packet, packet.length);
  assert.ok(request !== null && !isRequestFault(request));
  const rdata = Buffer.alloc(size, 'x');
  const body = {
    rcode: 0,
    aa: true,
    answer: [{ owner: request.qname, type: 16, ttl: 60, rdata: [rdata] }],
    authority: [],
    additional: [],
    ede: null,
    until: validity.until,
    once: false,
    isFailure: false,
    freshSignatures: 0,
  };
  const reply = writeReply(request, finish(body, null, request, ZONE));
  // The first sight is only noted.
  cache.store(packet, packet.length, reply, validity, tag);
  cache.store(packet, packet.length, reply, validity, tag);
}

export function tagOf(i: number): Tag {
  return {
    account: null,
    status: 0,
    isMetered: false,
    isTokenless: true,
    operation: 0,
    qtype: 16,
    rcode: 0,
    resource: `u${i}`,
    version: 'v1',
  };
}
