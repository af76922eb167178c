/** The value of an answer for people, before everything else about it. */
import { type DnsMessage, rcodeName, recordsIn, typeName } from '../../../../sdk/src/dns.ts';
import { bytes } from '../../format/format.ts';
import { type ValueWords, valueWords } from '../../format/value-words.ts';
import { type TextKey, t } from '../../text/text.ts';
import { utf8 } from '../records/payload.ts';
import { maskText } from './masked-name.ts';
import { envelopeOf } from './read-envelope.ts';

/** Characters of a headline. The whole value is below it. */
const HEADLINE_MAX = 120;

const FAILURES: Readonly<Record<string, TextKey>> = {
  FORMERR: 'playground.headFormerr',
  NOTIMP: 'playground.headNotimp',
  REFUSED: 'playground.headRefused',
  SERVFAIL: 'playground.headServfail',
};

export function headlineOf(message: DnsMessage): ValueWords {
  const { headline, detail } = whole(message);
  const isLong = headline.length > HEADLINE_MAX;
  return { headline: isLong ? `${headline.slice(0, HEADLINE_MAX)}…` : headline, detail };
}

function whole(message: DnsMessage): ValueWords {
  const code = rcodeName(message.rcode);
  const envelope = envelopeOf(message);
  if (message.rcode !== 0) {
    const key = FAILURES[code];
    const detail = envelope?.kind === 'error' ? envelope.message : '';
    return { headline: key === undefined ? code : t(key), detail };
  }
  if (envelope?.kind === 'envelope') {
    const { data, format, fields } = envelope.envelope;
    if (data === null) return valueWords(fields) ?? { headline: plainFields(fields), detail: '' };
    const text = utf8(data);
    if (text === null)
      return { headline: t('playground.binary', { size: bytes(data.length) }), detail: format ?? '' };
    return { headline: text === '' ? t('playground.headEmpty') : text, detail: '' };
  }
  if (envelope?.kind === 'error') return { headline: t('playground.headNone'), detail: envelope.message };
  if (envelope?.kind === 'other') return { headline: envelope.text, detail: '' };
  const records = recordsIn(message, 'answer').filter(({ type }) => typeName(type) !== 'RRSIG');
  const [first] = records;
  if (first === undefined) return { headline: t('playground.headNothing'), detail: '' };
  const detail = records.length > 1 ? t('playground.headMore', { count: records.length }) : '';
  return { headline: maskText(first.text), detail };
}

/** Fields that every envelope has say nothing of the value. */
const COMMON = new Set(['v', 's', 't', 'ts', 'ttl']);

function plainFields(fields: ReadonlyMap<string, string>): string {
  return [...fields]
    .filter(([name]) => !COMMON.has(name))
    .map(([name, value]) => `${name} ${value}`)
    .join(' · ');
}
