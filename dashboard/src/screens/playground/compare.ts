/** What two answers have in common, and what not. */
import { type DnsMessage, decodeMessage, rcodeName, recordsIn, typeName } from '../../../../sdk/src/dns.ts';
import { dateTime, milliseconds } from '../../format/format.ts';
import { maskText } from '../../format/masked-name.ts';
import { t } from '../../text/text.ts';
import type { Arrived } from './asked.ts';
import { headlineOf } from './headline.ts';
import { envelopeOf } from './read-envelope.ts';

export interface ComparedRow {
  readonly name: string;
  readonly values: readonly [string, string];
  readonly isSame: boolean;
}

/** Rows in the order of importance: the value, then the fields of both envelopes, then what is around them. */
export function comparedRows(one: Arrived, other: Arrived): readonly ComparedRow[] {
  const [a, b] = [partsOf(one), partsOf(other)];
  return (['value', 'fields', 'around'] as const).flatMap((group) => {
    const [left, right] = [a[group], b[group]];
    return [...new Set([...left.keys(), ...right.keys()])].map((name) => {
      const values = [left.get(name) ?? '', right.get(name) ?? ''] as const;
      return { name, values, isSame: values[0] === values[1] };
    });
  });
}

type Parts = Readonly<Record<'value' | 'fields' | 'around', ReadonlyMap<string, string>>>;

function partsOf(arrived: Arrived): Parts {
  const message = readable(arrived);
  const read = message === null ? null : envelopeOf(message);
  const answers =
    message === null ? [] : recordsIn(message, 'answer').filter(({ type }) => typeName(type) !== 'RRSIG');
  return {
    value: new Map([
      [t('playground.name'), maskText(arrived.asked.name)],
      [t('playground.code'), message === null ? t('playground.noMessage') : rcodeName(message.rcode)],
      [t('playground.value'), message === null ? '' : headlineOf(message).headline],
    ]),
    fields: read?.kind === 'envelope' ? read.envelope.fields : new Map(),
    around: new Map([
      ['TTL', [...new Set(answers.map(({ ttl }) => ttl))].join(', ')],
      [t('playground.octets'), String(arrived.octets.length)],
      [t('playground.firstAsk'), milliseconds(arrived.times[0])],
      [t('playground.askedAt'), dateTime(arrived.at)],
    ]),
  };
}

function readable({ octets }: Arrived): DnsMessage | null {
  try {
    return decodeMessage(octets);
  } catch {
    return null;
  }
}
