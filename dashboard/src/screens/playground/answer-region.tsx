import { rcodeName, recordsIn, typeName } from '../../../../sdk/src/dns.ts';
import { count, milliseconds } from '../../format/format.ts';
import { maskText } from '../../format/masked-name.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Icon, InfoIcon, ShieldBrokenIcon, ShieldIcon } from '../../ui/icon.tsx';
import { JsonTree } from '../../ui/json-tree.tsx';
import { utf8 } from '../records/payload.ts';
import type { Arrived } from './asked.ts';
import type { Examined } from './examined.ts';
import { Explanation } from './explanation.tsx';
import { headlineOf } from './headline.ts';
import { envelopeOf } from './read-envelope.ts';
import { verdictOf } from './verdict.ts';

/** What replies over UDP have at most (docs/PROTOCOL.md). */
const UDP_MAX = 1232;
/** Records that are shown here, and characters of one. All of them stand under As dig. */
const RECORDS_SHOWN = 4;
const RECORD_SHOWN_MAX = 300;

const VERDICT_ICONS = { good: ShieldIcon, warn: InfoIcon, bad: ShieldBrokenIcon } as const;

export interface AnswerRegionProps {
  readonly arrived: Arrived;
  readonly examined: Examined;
  readonly octets: Uint8Array;
  /** Octets that were changed in this page. */
  readonly changes: ReadonlySet<number>;
  readonly onTamper: () => void;
  readonly onRestore: () => void;
}

/** The value, in one line what the answer is worth, and what its code means. */
export function AnswerRegion(props: AnswerRegionProps) {
  const { arrived, examined, octets, changes, onTamper, onRestore } = props;
  const { message, fault } = examined;
  const isChanged = changes.size > 0;
  const verdict = verdictOf(examined, arrived.times[0], isChanged);
  const words = message === null ? null : headlineOf(message);
  // What nobody signed is no value: it is struck out.
  const isSpoiled = isChanged && verdict.tone === 'bad';
  return (
    <section aria-labelledby="answer" class="answer">
      <div class="answer-head">
        <h2 id="answer">{t('playground.answer')}</h2>
        {message === null ? (
          <Badge text={t('playground.noMessage')} tone="bad" />
        ) : (
          <Badge
            text={rcodeName(message.rcode)}
            tone={isSpoiled ? 'dim' : message.rcode === 0 ? 'good' : 'warn'}
          />
        )}
        <Cost arrived={arrived} size={octets.length} />
      </div>
      {words === null ? (
        <p class="note bad">
          {t(isChanged ? 'playground.unreadableChanged' : 'playground.unreadable', { fault: fault ?? '' })}
        </p>
      ) : (
        <div>
          <p class={`answer-value ${words.headline.length > 40 ? 'long' : ''}`}>
            {isSpoiled ? <s>{words.headline}</s> : words.headline}
          </p>
          {words.detail === '' ? null : <p class="dim">{words.detail}</p>}
        </div>
      )}
      <p class={`verdict ${verdict.tone}`}>
        <Icon of={VERDICT_ICONS[verdict.tone]} />
        <span>{verdict.text}</span>
      </p>
      {isChanged ? (
        <p class="note warn">{tn('playground.changed', changes.size, { at: [...changes].join(', ') })}</p>
      ) : null}
      {message === null ? null : (
        <>
          <Explanation message={message} zone={arrived.asked.zone} />
          <Value examined={examined} />
          <Lines examined={examined} />
        </>
      )}
      <div>
        <Button onClick={isChanged ? onRestore : onTamper}>
          {t(isChanged ? 'playground.restore' : 'playground.tamper')}
        </Button>
      </div>
    </section>
  );
}

function Cost({ arrived: { times }, size }: { readonly arrived: Arrived; readonly size: number }) {
  const [first, second] = times;
  return (
    <span class="dim answer-cost">
      {second === null
        ? milliseconds(first)
        : t('playground.times', { first: milliseconds(first), second: milliseconds(second) })}{' '}
      {t(size > UDP_MAX ? 'playground.sizeCut' : 'playground.size', { size: count(size) })}
    </span>
  );
}

/** The whole value, where the headline has not all of it. */
function Value({ examined: { message } }: { readonly examined: Examined }) {
  const read = message === null ? null : envelopeOf(message);
  if (read?.kind !== 'envelope' || read.envelope.data === null) return null;
  const text = utf8(read.envelope.data);
  if (text === null) return null;
  const json = read.envelope.format === 'json' ? parsed(text) : undefined;
  if (typeof json === 'object' && json !== null) {
    return (
      <div class="answer-json" role="group" aria-label={t('playground.data')} tabIndex={0}>
        <JsonTree value={json} />
      </div>
    );
  }
  if (text.length <= 40 && !text.includes('\n')) return null;
  return <CodeBlock code={text} label={t('playground.data')} language="text" />;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The records of the answer as a master file prints them, without signatures. */
function Lines({ examined: { message } }: { readonly examined: Examined }) {
  if (message === null) return null;
  const records = recordsIn(message, 'answer').filter(
    ({ type, text }) => typeName(type) !== 'RRSIG' && text.length <= RECORD_SHOWN_MAX,
  );
  if (records.length === 0) return null;
  return (
    <ul class="answer-records code">
      {records.slice(0, RECORDS_SHOWN).map(({ from, ttl, type, text }) => (
        <li key={from}>
          <span class="dim">
            {ttl} {typeName(type)}
          </span>{' '}
          {maskText(text)}
        </li>
      ))}
    </ul>
  );
}
