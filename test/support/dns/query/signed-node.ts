/** A packet handler over a memory view, with a clock, keys and a slow service that the test controls. */

import { generateKeySet, type KeySet, keySetData } from '../../../../src/dns/dnssec/key-set.ts';
import type { PublicService } from '../../../../src/dns/query/operations.ts';
import { makePacketHandler, type PacketContext } from '../../../../src/dns/query/packet.ts';
import type { ServedZone } from '../../../../src/dns/query/zones.ts';
import { servedZones } from '../../../../src/process/node/settings.ts';
import {
  decodeMessage,
  encodeQuery,
  type Message,
  type Rr,
} from '../../../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../../../src/protocol/dns/name.ts';
import type { Outcome } from '../../../../src/protocol/query/outcome.ts';
import { announcedApply, createFreshness } from '../../../../src/view/freshness.ts';
import { createMemoryView } from '../../view/memory-view.ts';
import { readRrsig, verifies } from '../dnssec/keys.ts';

export const ZONE = 'uqrp.net';
export const START = Date.UTC(2026, 0, 1);
const SERVERS = [{ label: 'ns1', addresses: ['192.0.2.1'] }];
const TXT = 16;
const RRSIG = 46;

export interface Clockwork {
  now: number;
}

/** A zone as a node serves it. Null keys: answers are not signed. */
export function zoneOf(keys: KeySet | null, clock: Clockwork, zone = ZONE): readonly ServedZone[] {
  return servedZones({
    zones: [zone],
    nameServers: SERVERS,
    mode: 'full',
    keys: keys === null ? [] : [keySetData(keys)],
    clock: () => clock.now,
  });
}

export function keysMadeAt(now: number, zone = ZONE): KeySet {
  return generateKeySet(zone, now);
}

/** A service whose answers the test releases, one by one, in the order of the questions. */
export interface WaitingService extends PublicService {
  readonly waiting: ((outcome: Outcome) => void)[];
}

export function waitingService(resource: string): WaitingService {
  const waiting: ((outcome: Outcome) => void)[] = [];
  return {
    resource,
    waiting,
    info: () => ({ kind: 'refused', until: 0 }),
    answer: () => new Promise((resolve) => waiting.push(resolve)),
  };
}

export function answerOf(text: string, until: number): Outcome {
  return { kind: 'answer', text: Buffer.from(text), ttl: 600, until };
}

export function signedNode(
  more: Partial<PacketContext> & Pick<PacketContext, 'zones'>,
  clock: Clockwork,
  services: readonly PublicService[] = [],
) {
  const view = createMemoryView();
  const freshness = createFreshness();
  const handler = makePacketHandler({
    view,
    access: { sync: true, demo: false },
    services: new Map(services.map((service) => [service.resource, service])),
    identity: 'test-node',
    freshness,
    clock: () => clock.now,
    ...more,
  });
  return { handler, view, freshness, apply: announcedApply(view, freshness) };
}

export interface Asking {
  readonly qtype?: number;
  readonly dnssecOk?: boolean;
  readonly id?: number;
}

/** A query with EDNS, and with the DO bit by default. */
export function queryOf(name: string, { qtype = TXT, dnssecOk = true, id = 7 }: Asking = {}): Uint8Array {
  return encodeQuery(nameFromText(name)!, qtype, {
    id,
    rd: false,
    edns: { payload: 1232, dnssecOk },
  });
}

export function messageOf(reply: Uint8Array | null): Message {
  const message = reply === null ? null : decodeMessage(reply);
  if (message === null) throw new Error('the reply does not decode');
  return message;
}

/** The reply of the packet cache, or null. */
export function cachedReply(
  handler: ReturnType<typeof makePacketHandler>,
  query: Uint8Array,
): Uint8Array | null {
  const out = Buffer.alloc(65_535);
  const octets = handler.hot(query, query.length, 'udp', out);
  return octets === 0 ? null : new Uint8Array(out.subarray(0, octets));
}

export function rrsigsIn(section: readonly Rr[]): readonly Uint8Array[] {
  return section.filter(({ type }) => type === RRSIG).map(({ rdata }) => rdata);
}

/** Whether every active key signed each rrset, and each signature verifies. */
export function isSignedBy(message: Message, keys: KeySet): boolean {
  return [message.answer, message.authority].every((section) => {
    const covered = section.filter(({ type }) => type !== RRSIG);
    return covered.every(({ owner, type, ttl }) => {
      const rdata = covered.filter((rr) => rr.type === type).map((rr) => rr.rdata);
      const rrsigs = rrsigsIn(section).filter((rrsig) => readRrsig(rrsig).covered === type);
      return keys.keys.every((key) =>
        rrsigs.some(
          (rrsig) =>
            readRrsig(rrsig).keyTag === key.keyTag &&
            verifies({ owner, type, ttl, rdata }, rrsig, key.dnskeyRdata),
        ),
      );
    });
  });
}
