/** What two answers have in common, and what not. */
import { type DnsMessage, decodeMessage, rcodeName, recordsIn, typeName } from '../../../../sdk/src/dns.ts';
import { dateTime, milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import type { Arrived } from './asked.ts';
import { headlineOf } from './headline.ts';
import { maskText } from './masked-name.ts';
import { envelopeOf } from './read-envelope.ts';

export interface ComparedRow {
  readonly name: string;
  readonly values: readonly [string, string];
  readonly isSame: boolean;
}

/** Rows in the order of importance: the value, then the fields of the envelopes, then what is around it. */
export function comparedRows(one: Arrived, other: Arrived): readonly ComparedRow[] {
  const [a, b] = [partsOf(one), partsOf(other)];
  const names = [...new Set([...a.keys(), ...b.keys()])];
  return names.map((name) => {
    const values = [a.get(name) ?? '', b.get(name) ?? ''] as const;
    return { name, values, isSame: values[0] === values[1] };
  });
}

function partsOf(arrived: Arrived): ReadonlyMap<string, string> {
  const parts = new Map([[t('playground.name'), maskText(arrived.asked.name)]]);
  const message = readable(arrived);
  if (message === null) return parts.set(t('playground.code'), t('playground.noMessage'));
  parts.set(t('playground.code'), rcodeName(message.rcode));
  parts.set(t('playground.value'), headlineOf(message).headline);
  const read = envelopeOf(message);
  if (read?.kind === 'envelope') for (const [name, value] of read.envelope.fields) parts.set(name, value);
  const answers = recordsIn(message, 'answer').filter(({ type }) => typeName(type) !== 'RRSIG');
  parts.set('TTL', [...new Set(answers.map(({ ttl }) => ttl))].join(', '));
  parts.set(t('playground.octets'), String(message.octets.length));
  parts.set(t('playground.firstAsk'), milliseconds(arrived.times[0]));
  return parts.set(t('playground.askedAt'), dateTime(arrived.at));
}

function readable({ octets }: Arrived): DnsMessage | null {
  try {
    return decodeMessage(octets);
  } catch {
    return null;
  }
}
