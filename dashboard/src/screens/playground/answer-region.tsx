import { useEffect, useState } from 'preact/hooks';
import { rcodeName } from '../../../../sdk/src/dns.ts';
import { count, milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { type Arrived, type Examined, examine, tamper } from './asked.ts';
import { EnvelopeView } from './envelope-view.tsx';
import { Explanation } from './explanation.tsx';
import { maskText } from './masked-name.ts';
import { Octets } from './octets.tsx';
import { Records } from './records-view.tsx';
import { SignaturesRegion } from './signatures-region.tsx';

/** What replies over UDP have at most (docs/PROTOCOL.md). */
const UDP_MAX = 1232;

/** The answer, and the check of its signatures. */
export function AnswerRegion({ arrived }: { arrived: Arrived }) {
  const [changed, setChanged] = useState<{ readonly octets: Uint8Array; readonly at: number } | null>(null);
  const [trustedDs, setTrustedDs] = useState('');
  const [examined, setExamined] = useState<Examined | null>(null);
  useEffect(() => setChanged(null), [arrived]);
  const octets = changed?.octets ?? arrived.octets;
  useEffect(() => {
    let isCurrent = true;
    void examine(arrived, octets, trustedDs).then((result) => {
      if (isCurrent) setExamined(result);
    });
    return () => {
      isCurrent = false;
    };
  }, [arrived, octets, trustedDs]);
  if (examined === null) return null;
  return (
    <>
      <section aria-labelledby="answer" class="stack">
        <h2 id="answer">{t('playground.answer')}</h2>
        <Status arrived={arrived} examined={examined} size={octets.length} />
        {changed === null ? null : <p class="note warn">{t('playground.changed', { at: changed.at })}</p>}
        <Body arrived={arrived} examined={examined} />
        <div class="actions">
          {changed === null ? (
            <Button onClick={() => setChanged(tamper(octets))}>{t('playground.tamper')}</Button>
          ) : (
            <Button onClick={() => setChanged(null)}>{t('playground.restore')}</Button>
          )}
        </div>
      </section>
      <SignaturesRegion
        arrived={arrived}
        examined={examined}
        trustedDs={trustedDs}
        onTrustedDs={setTrustedDs}
      />
      <Octets octets={octets} message={examined.message} changedAt={changed?.at ?? null} />
    </>
  );
}

interface StatusProps {
  readonly arrived: Arrived;
  readonly examined: Examined;
  readonly size: number;
}

function Status({ arrived, examined: { message }, size }: StatusProps) {
  const [first, second] = arrived.times;
  const ttl = message === null || message.records.length === 0 ? null : ttlOf(message.records);
  return (
    <>
      <p class="actions" role="status">
        {message === null ? (
          <Badge text={t('playground.noMessage')} tone="bad" />
        ) : (
          <Badge text={rcodeName(message.rcode)} tone={message.rcode === 0 ? 'good' : 'warn'} />
        )}
        <span>
          {t('playground.times', { first: milliseconds(first), second: milliseconds(second) })}{' '}
          {ttl === null ? null : t(ttl === 0 ? 'playground.ttlNone' : 'playground.ttl', { ttl })}
        </span>
      </p>
      <p class="dim">{t(size > UDP_MAX ? 'playground.sizeCut' : 'playground.size', { size: count(size) })}</p>
    </>
  );
}

function ttlOf(records: readonly { readonly ttl: number }[]): number {
  return Math.min(...records.map(({ ttl }) => ttl));
}

function Body({ arrived, examined: { message, fault } }: Omit<StatusProps, 'size'>) {
  if (message === null) return <p class="note bad">{t('playground.unreadable', { fault: fault ?? '' })}</p>;
  return (
    <>
      <Explanation message={message} />
      <EnvelopeView message={message} />
      <Records records={message.records} />
      {arrived.json === null ? null : (
        <CodeBlock code={maskText(indented(arrived.json))} label="JSON" language="json" />
      )}
    </>
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
