/** Answers of a running server, with their signatures verified by the test's keys. */
import assert from 'node:assert/strict';
import { keyTag as tagOf } from '../../src/dns/dnssec/key-set.ts';
import { ask } from '../../src/process/dns-client.ts';
import { RCODE, RRTYPE } from '../../src/protocol/dns/codes.ts';
import type { Rr } from '../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { readRrsig, verifies } from './dns/dnssec/keys.ts';
import { nameEquals } from './protocol/dns/fixtures.ts';

export type DnsKeys = readonly Uint8Array[];

export interface SignedAnswer {
  readonly rcode: number;
  /** Rdata of the queried type, hexadecimal. */
  readonly records: readonly string[];
  /** Indexes of the given key sets that verify every signature. */
  readonly by: readonly number[];
}

const ZONE = 'uqrp.net';
const DEADLINE_MS = 5000;
/** A datagram to a worker that ends is lost, so the client retries. */
const TRIES = 3;

/** Asks with DO, below the zone (or at it, with an empty name). @throws AssertionError when an answer is not signed */
export async function askSigned(
  port: number,
  name: string,
  type: number,
  sets: readonly DnsKeys[],
): Promise<SignedAnswer> {
  const qname = nameFromText(name === '' ? ZONE : `${name}.${ZONE}`)!;
  const { rcode, answer, authority } = await retrying(() =>
    ask(qname, type, {
      server: { host: '127.0.0.1', port, ca: null },
      transport: 'udp',
      deadlineMs: DEADLINE_MS,
      dnssecOk: true,
    }),
  );
  // A REFUSED reply has no records to sign.
  if (rcode === RCODE.REFUSED) return { rcode, records: [], by: [] };
  const records = [...answer, ...authority];
  assert.ok(
    records.some((rr) => rr.type === RRTYPE.RRSIG),
    `${name}: the answer has no signature`,
  );
  const by = sets.map((_, at) => at).filter((at) => isSignedBy(records, sets[at]!));
  return {
    rcode,
    records: answer.filter((rr) => rr.type === type).map((rr) => Buffer.from(rr.rdata).toString('hex')),
    by,
  };
}

/** The DNSKEY rrset of the server, verified by its own keys. */
export async function servedKeys(port: number): Promise<DnsKeys> {
  const { records } = await askSigned(port, '', RRTYPE.DNSKEY, []);
  const keys = records.map((text) => Buffer.from(text, 'hex'));
  const { by } = await askSigned(port, '', RRTYPE.DNSKEY, [keys]);
  assert.deepEqual(by, [0]);
  return keys;
}

/** Whether every rrset has a signature, and every signature verifies by a key of the set. */
function isSignedBy(records: readonly Rr[], keys: DnsKeys): boolean {
  const signatures = records.filter((rr) => rr.type === RRTYPE.RRSIG);
  const signed = signatures.every((signature) => {
    const { covered, ttl, keyTag } = readRrsig(signature.rdata);
    const rdata = records
      .filter((rr) => rr.type === covered && nameEquals(rr.owner, signature.owner))
      .map((rr) => rr.rdata);
    const rrset = { owner: signature.owner, type: covered, ttl, rdata };
    return keys.some((key) => tagOf(key) === keyTag && verifies(rrset, signature.rdata, key));
  });
  const isCovered = (rr: Rr): boolean =>
    signatures.some(
      ({ owner, rdata }) => nameEquals(owner, rr.owner) && readRrsig(rdata).covered === rr.type,
    );
  return signed && records.every((rr) => rr.type === RRTYPE.RRSIG || isCovered(rr));
}

async function retrying<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === TRIES) throw error;
    }
  }
}
