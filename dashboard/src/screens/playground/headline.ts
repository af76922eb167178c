/** The value of an answer for people, before everything else about it. */
import { type DnsMessage, rcodeName, recordsIn, typeName } from '../../../../sdk/src/dns.ts';
import { bytes } from '../../format/format.ts';
import { maskText } from '../../format/masked-name.ts';
import { type ValueWords, valueWords } from '../../format/value-words.ts';
import { type TextKey, t, tn } from '../../text/text.ts';
import { utf8 } from '../records/payload.ts';
import { envelopeOf } from './read-envelope.ts';

/** Characters of a headline. The whole value is below it. */
const HEADLINE_MAX = 120;

/** Characters of JSON that say more than the number of its members. */
const JSON_MAX = 60;
/** Characters of a record, such as a key, that say something to people. */
const LINE_MAX = 80;

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
    if (text === '') return { headline: t('playground.headEmpty'), detail: '' };
    return format === 'json' && text.length > JSON_MAX ? jsonWords(text) : { headline: text, detail: '' };
  }
  if (envelope?.kind === 'error') return { headline: t('playground.headNone'), detail: envelope.message };
  if (envelope?.kind === 'other') return { headline: envelope.text, detail: '' };
  const records = recordsIn(message, 'answer').filter(({ type }) => typeName(type) !== 'RRSIG');
  const [first] = records;
  if (first === undefined) return { headline: t('playground.headNothing'), detail: '' };
  const lines = tn('playground.headRecords', records.length);
  if (first.text.length > LINE_MAX) return { headline: lines, detail: '' };
  return { headline: maskText(first.text), detail: records.length > 1 ? lines : '' };
}

/** What long JSON calls itself, as a schema does, and how much it holds. */
function jsonWords(text: string): ValueWords {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { headline: text, detail: '' };
  }
  const size = tn('playground.headJson', Object.keys(json ?? {}).length);
  const title = (json as { readonly title?: unknown } | null)?.title;
  return typeof title === 'string' ? { headline: title, detail: size } : { headline: size, detail: '' };
}

/** Fields that every envelope has say nothing of the value. */
const COMMON = new Set(['v', 's', 't', 'ts', 'ttl']);

function plainFields(fields: ReadonlyMap<string, string>): string {
  return [...fields]
    .filter(([name]) => !COMMON.has(name))
    .map(([name, value]) => `${name} ${value}`)
    .join(' · ');
}
