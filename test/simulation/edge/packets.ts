/** Questions as octets, and replies read by a library that shares nothing with the product. */
import dnsPacket from 'dns-packet';
import { encodeQuery } from '../../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../../src/protocol/dns/name.ts';
import { InvariantError } from '../invariants.ts';
import type { Random } from '../random.ts';
import type { AskedName, DecodedAnswer } from './observation.ts';

export const ZONE = 'uqrp.net';

const TYPES: Readonly<Record<AskedName['type'], number>> = { A: 1, SOA: 6, TXT: 16, NSEC: 47, DNSKEY: 48 };
const PAYLOADS = [512, 1232, 4096] as const;

export function questionOctets(asked: AskedName, random: Random): Uint8Array {
  const token = asked.token === null ? '' : `auth-${asked.token}.`;
  const name = `get.${token}${asked.key}.${ZONE}`;
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
  return [...name].map((letter) => (random.chance(0.5) ? letter.toUpperCase() : letter)).join('');
}

/** @returns null for a reply that was cut off. @throws InvariantError for one that is none to this question */
export function readReply(question: Uint8Array, reply: Uint8Array): DecodedAnswer | null {
  const [asked, found] = [decoded(question), decoded(reply)];
  // The octets of the question, its letters as they were sent.
  const isEcho = found.id === asked.id && found.questions[0]?.name === asked.questions[0]!.name;
  if (found.type !== 'response' || !isEcho) throw new InvariantError('a reply to another question');
  if (found.flag_tc) return null;
  const text = found.answers.find(({ type }) => type === 'TXT');
  const envelope = text === undefined ? null : Buffer.concat(text.data as Buffer[]).toString('latin1');
  return {
    rcode: found.rcode as DecodedAnswer['rcode'],
    envelope,
    ttl: text?.ttl ?? null,
    ...partsOf(envelope),
  };
}

function decoded(octets: Uint8Array): ReturnType<typeof dnsPacket.decode> {
  return dnsPacket.decode(Buffer.from(octets.buffer, octets.byteOffset, octets.length));
}

function partsOf(envelope: string | null): Pick<DecodedAnswer, 'format' | 'hintTtl' | 'data'> {
  if (envelope === null) return { format: null, hintTtl: null, data: null };
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
