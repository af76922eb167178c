/** One line about an answer: whether it is signed, how long it may be kept, how long it took. */
import { type DnsMessage, rcodeName } from '../../../../sdk/src/dns.ts';
import { milliseconds } from '../../format/format.ts';
import { type TextKey, t, tn } from '../../text/text.ts';
import { type Examined, isFailure } from './examined.ts';

export interface Verdict {
  readonly tone: 'good' | 'bad' | 'warn';
  readonly text: string;
}

/**
 * @param ms of the first ask
 * @param isChanged somebody changed octets of it in this page
 */
export function verdictOf(examined: Examined, ms: number, isChanged: boolean): Verdict {
  const { tone, text } = judged(examined, isChanged);
  const { message } = examined;
  const parts = [text];
  if (tone !== 'bad' && message !== null && message.records.length > 0) parts.push(keptText(message));
  if (!isChanged) parts.push(milliseconds(ms));
  return { tone, text: parts.join(', ') };
}

function judged({ message, check, fault }: Examined, isChanged: boolean): Verdict {
  if (message === null || check === null)
    return {
      tone: 'bad',
      text: isChanged
        ? t('playground.verdictChangedUnreadable')
        : t('playground.verdictUnreadable', { fault: fault ?? '' }),
    };
  if (isFailure(message))
    return { tone: 'warn', text: t('playground.verdictFailure', { code: rcodeName(message.rcode) }) };
  if (check.result === 'not_valid')
    return { tone: 'bad', text: t(isChanged ? 'playground.verdictChanged' : 'playground.verdictBad') };
  if (check.result === 'unsigned') return { tone: 'warn', text: t('playground.verdictUnsigned') };
  if (check.result === 'not_checked') return { tone: 'warn', text: t('playground.verdictUnchecked') };
  if (isChanged) return { tone: 'warn', text: t('playground.verdictUncovered') };
  const { length } = check.signatures;
  return {
    tone: 'good',
    text: length === 2 ? t('playground.verdictBoth') : tn('playground.verdictGood', length),
  };
}

/** From the longest: seconds, and the text of one or more of them. */
const UNITS: readonly (readonly [seconds: number, text: TextKey])[] = [
  [86_400, 'playground.days'],
  [3600, 'playground.hours'],
  [60, 'playground.minutes'],
  [1, 'playground.seconds'],
];

/** How long resolvers may keep all records of a message. */
export function keptText({ records }: DnsMessage): string {
  const ttl = Math.min(...records.map((record) => record.ttl));
  const [seconds, text] = UNITS.find(([length]) => ttl >= length && ttl % length === 0) ?? [
    1,
    'playground.seconds',
  ];
  return ttl === 0 ? t('playground.keptNever') : t('playground.kept', { time: tn(text, ttl / seconds) });
}
