/** Questions as octets, and replies read by a library that shares nothing with the product. */
import dnsPacket from 'dns-packet';
import { encodeQuery } from '../../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../../src/protocol/dns/name.ts';
import { InvariantError } from '../invariants.ts';
import type { Random } from '../random.ts';
import { datasetLabels } from './dataset-answers.ts';
import type { AskedName, DecodedAnswer } from './observation.ts';

export const ZONE = 'uqrp.net';

const TYPES: Readonly<Record<AskedName['type'], number>> = { A: 1, SOA: 6, TXT: 16, NSEC: 47, DNSKEY: 48 };
const PAYLOADS = [512, 1232, 4096] as const;

/** For the keys of the zone, with their signatures. */
export const KEYS_OCTETS = encodeQuery(nameFromText(ZONE)!, TYPES.DNSKEY, {
  id: 1,
  rd: true,
  edns: { payload: 4096, dnssecOk: true },
});

export function questionOctets(asked: AskedName, random: Random): Uint8Array {
  const token = asked.token === null ? '' : `auth-${asked.token}.`;
  const first = asked.dataset === null ? 'get' : datasetLabels(asked.dataset);
  const name = `${first}.${token}${asked.key}.${ZONE}`;
  // As resolvers do that make replies harder to forge: letters of either case.
  const spelled = random.chance(0.2) ? mixed(name, random) : name;
  const hasEdns = asked.dnssecOk || random.chance(0.5);
  return encodeQuery(nameFromText(spelled)!, TYPES[asked.type], {
    id: random.between(0, 65_535),
    rd: random.chance(0.5),
    edns: hasEdns ? { payload: random.pick(PAYLOADS), dnssecOk: asked.dnssecOk } : null,
  });
}

function mixed(name: string, random: Random): string {
  return name.replaceAll(/./g, (letter) => (random.chance(0.5) ? letter.toUpperCase() : letter));
}

/** @returns null for a reply that was cut off. @throws InvariantError for one that is none to this question */
export function readReply(question: Uint8Array, reply: Uint8Array): DecodedAnswer | null {
  const found = dnsPacket.decode(asBuffer(reply));
  // The number and the question, its letters as they were sent.
  const end = endOfName(question) + 4;
  const isEcho = [
    [0, 2],
    [12, end],
  ].every(([from, to]) => asBuffer(question).subarray(from, to).equals(asBuffer(reply).subarray(from, to)));
  if (found.type !== 'response' || !isEcho) throw new InvariantError('a reply to another question');
  if (found.flag_tc) return null;
  if (found.rcode === 'REFUSED') checkRefusal(question, reply);
  const text = found.answers.find(({ type }) => type === 'TXT');
  const envelope = text === undefined ? null : Buffer.concat(text.data as Buffer[]).toString('latin1');
  return {
    rcode: found.rcode as DecodedAnswer['rcode'],
    envelope,
    ttl: text?.ttl ?? null,
    ...partsOf(envelope),
  };
}

/** The first refusal of each length of OPT record: all others are the same octets behind the question. */
const refusals = new Map<number, string>();

/** Nothing tells why it was refused. */
function checkRefusal(question: Uint8Array, reply: Uint8Array): void {
  const end = endOfName(question) + 4;
  const octets = `${reply[2]! & ~1} ${reply[3]} ${Buffer.from(reply.subarray(end)).toString('hex')}`;
  const kind = question.length - end + (question[end + 7] ?? 0);
  const known = refusals.get(kind) ?? octets;
  refusals.set(kind, known);
  if (octets !== known) throw new InvariantError(`refused unlike others: ${octets} for ${known}`);
}

function endOfName(question: Uint8Array): number {
  let at = 12;
  while (question[at] !== 0) at += question[at]! + 1;
  return at + 1;
}

function asBuffer(octets: Uint8Array): Buffer {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.length);
}

function partsOf(envelope: string | null): Pick<DecodedAnswer, 'format' | 'hintTtl' | 'data'> {
  if (envelope?.startsWith('v=svc1;') !== true) return { format: null, hintTtl: null, data: null };
  const at = envelope.indexOf(';d=');
  const fields = new Map(
    envelope
      .slice(0, at)
      .split(';')
      .map((pair) => pair.split('=') as [string, string]),
  );
  const data = Buffer.from(envelope.slice(at + 3), fields.get('e') === 'plain' ? 'latin1' : 'base64');
  return { format: fields.get('f') ?? null, hintTtl: Number(fields.get('ttl')), data };
}
