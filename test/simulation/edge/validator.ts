/**
 * A validating resolver behind the nodes: it holds the zone's keys for their TTL, whichever node gave them, and accepts an answer only if a
 * key that it holds has signed it, in time. The octets that are signed are put together here, and checked by the system's cryptography.
 */
import { createHash } from 'node:crypto';
import { keyTag } from '../../../src/dns/dnssec/key-set.ts';
import { decodeMessage, type Message, type Rr } from '../../../src/protocol/dns/message/message.ts';
import { type RrsigFields, readRrsig, verifies } from '../../support/dns/dnssec/keys.ts';
import { InvariantError } from '../invariants.ts';

export interface Validator {
  /** It has no keys now, and asks for them. */
  needsKeys(): boolean;
  /** @param reply to a question for DNSKEY at the zone, with signatures */
  learn(reply: Uint8Array): void;
  /** @throws InvariantError for an answer that it would not accept */
  check(reply: Uint8Array): void;
  /** From now on it accepts everything. */
  excuse(): void;
}

interface ValidatorOptions {
  /** True time, milliseconds since the epoch. */
  readonly now: () => number;
  /** Tags of the keys that the parent zone vouches for. */
  readonly anchors: () => ReadonlySet<number>;
  /** Whether to do what takes long: the rest is checked always. */
  readonly isSampled: () => boolean;
}

const RRSIG = 46;
const NSEC = 47;
const DNSKEY = 48;
const SECOND_MS = 1000;

interface Rrset {
  readonly owner: Uint8Array;
  readonly type: number;
  readonly ttl: number;
  readonly rdata: readonly Uint8Array[];
  readonly rrsigs: readonly Uint8Array[];
}

/** Signatures that were found right, of all seeds: many nodes sign the same octets. */
const right = new Set<string>();
const RIGHT_MAX = 10_000;

export function createValidator({ now, anchors, isSampled }: ValidatorOptions): Validator {
  let isExcused = false;
  let held: { readonly keys: ReadonlyMap<number, Uint8Array>; readonly until: number } | null = null;

  /** @param keys by tag */
  function checkSigned(rrset: Rrset, keys: ReadonlyMap<number, Uint8Array>, isChecked: boolean): void {
    const usable = rrset.rrsigs
      .map((rdata) => ({ rdata, fields: readRrsig(rdata) }))
      .filter(({ fields }) => keys.has(fields.keyTag));
    if (usable.length === 0) throw bogus(rrset, `no signature of a key that is held: ${tagsOf(rrset)}`);
    // One of each algorithm (RFC 4035 section 2.2), as strict resolvers want it.
    const algorithms = new Set(usable.map(({ fields }) => algorithmIn(keys.get(fields.keyTag)!)));
    if (![...keys.values()].every((key) => algorithms.has(algorithmIn(key))))
      throw bogus(rrset, `not signed by a key of each algorithm that is held: ${tagsOf(rrset)}`);
    for (const { rdata, fields } of usable) {
      const wrong = timesOf(fields, rrset, now() / SECOND_MS);
      if (wrong !== null) throw bogus(rrset, wrong);
      // A resolver counts down from this and restores it: another one makes the signature wrong.
      if (fields.ttl !== rrset.ttl) throw bogus(rrset, `original TTL ${fields.ttl} of ${rrset.ttl}`);
      if (isChecked && !isRight(rrset, rdata, keys.get(fields.keyTag)!))
        throw bogus(rrset, 'a wrong signature');
    }
  }

  return {
    needsKeys: () => !isExcused && (held === null || held.until <= now()),
    learn(reply) {
      const rrset = rrsetsOf(messageOf(reply).answer).find(({ type }) => type === DNSKEY);
      if (rrset === undefined) throw new InvariantError('the zone has no keys');
      const tags = anchors();
      const all = new Map(rrset.rdata.map((rdata) => [keyTag(rdata), rdata]));
      checkSigned(rrset, new Map([...all].filter(([tag]) => tags.has(tag))), true);
      held = { keys: all, until: now() + rrset.ttl * SECOND_MS };
    },
    check(reply) {
      const message = messageOf(reply);
      if (message.rcode !== 0 || held === null || isExcused) return;
      const isChecked = isSampled();
      const rrsets = [message.answer, message.authority].flatMap(rrsetsOf);
      for (const rrset of rrsets) checkSigned(rrset, held.keys, isChecked);
      const [question] = message.question;
      const isAnswered = message.answer.some(({ type }) => type === question!.qtype);
      if (!isAnswered && !isDenied(rrsets, question!)) throw new InvariantError('nothing denies the record');
    },
    excuse() {
      isExcused = true;
    },
  };
}

/** Whether a record proves that the name has no record of the type. */
function isDenied(rrsets: readonly Rrset[], { qname, qtype }: Message['question'][number]): boolean {
  const name = text(qname);
  return rrsets.some(
    ({ owner, type, rdata }) => type === NSEC && text(owner) === name && !typesIn(rdata[0]!).has(qtype),
  );
}

/** Of an NSEC record: the next name, then blocks of a number, a length and bits (RFC 4034 section 4.1.2). */
function typesIn(rdata: Uint8Array): ReadonlySet<number> {
  const types = new Set<number>();
  let at = 0;
  while (rdata[at] !== 0) at += rdata[at]! + 1;
  for (at++; at < rdata.length; at += 2 + rdata[at + 1]!) {
    const [block, length] = [rdata[at]!, rdata[at + 1]!];
    for (let bit = 0; bit < length * 8; bit++) {
      if ((rdata[at + 2 + (bit >> 3)]! & (0x80 >> (bit & 7))) !== 0) types.add(block * 256 + bit);
    }
  }
  return types;
}

function timesOf({ inception, expiration }: RrsigFields, { ttl }: Rrset, now: number): string | null {
  if (inception > now) return `signed ${Math.ceil(inception - now)} s ahead of its time`;
  // A cache may hold it for its TTL.
  return expiration < now + ttl ? `its signature ends in ${Math.floor(expiration - now)} s` : null;
}

function isRight(rrset: Rrset, rrsig: Uint8Array, key: Uint8Array): boolean {
  const hash = createHash('sha256').update(rrset.owner).update(rrsig).update(key);
  for (const rdata of rrset.rdata) hash.update(rdata);
  const mark = hash.digest('base64');
  if (right.has(mark)) return true;
  if (!verifies(rrset, rrsig, key)) return false;
  if (right.size >= RIGHT_MAX) right.clear();
  right.add(mark);
  return true;
}

function rrsetsOf(section: readonly Rr[]): Rrset[] {
  const of = (rr: Rr, type: number): boolean => rr.type === type;
  const heads = section.filter(
    (rr, at) =>
      !of(rr, RRSIG) &&
      section.findIndex(({ type, owner }) => type === rr.type && text(owner) === text(rr.owner)) === at,
  );
  return heads.map(({ owner, type, ttl }) => ({
    owner,
    type,
    ttl,
    rdata: section.filter((rr) => of(rr, type)).map(({ rdata }) => rdata),
    rrsigs: section
      .filter((rr) => of(rr, RRSIG) && readRrsig(rr.rdata).covered === type)
      .map(({ rdata }) => rdata),
  }));
}

function messageOf(reply: Uint8Array): Message {
  const message = decodeMessage(reply);
  if (message === null) throw new InvariantError('a reply that does not decode');
  return message;
}

function text(name: Uint8Array): string {
  return Buffer.from(name).toString('latin1').toLowerCase();
}

function algorithmIn(dnskey: Uint8Array): number {
  return dnskey[3]!;
}

function tagsOf({ rrsigs }: Rrset): string {
  return rrsigs.map((rdata) => readRrsig(rdata).keyTag).join(' ');
}

function bogus({ type, owner }: Rrset, why: string): InvariantError {
  return new InvariantError(
    `a resolver that validates refuses type ${type} of ${text(owner).replaceAll(/[^!-~]/g, '.')}: ${why}`,
  );
}
