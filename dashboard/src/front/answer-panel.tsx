/** The answer to a question of a visitor: its value, what came, and the verdict on its signatures. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Unavailable } from '../../../sdk/src/dns.ts';
import { milliseconds } from '../format/format.ts';
import { hasTokenLabel } from '../format/masked-name.ts';
import { type ValueWords, valueWords } from '../format/value-words.ts';
import { t } from '../text/text.ts';
import { askChecked, type CheckedAnswer, zoneWith } from './ask-server.ts';

/** What one sees of a question. */
export type PanelState =
  | { readonly phase: 'idle' }
  | { readonly phase: 'asking'; readonly last: CheckedAnswer | null }
  | { readonly phase: 'answered'; readonly answer: CheckedAnswer }
  /** `notName` and `empty`: what was typed is no name, so nothing was asked. */
  | { readonly phase: 'unreachable' | 'notName' | 'empty' };

const IDLE: PanelState = { phase: 'idle' };

/** Asks one question at a time: a new one ends the one before. */
export function useQuestion(zones: readonly string[]): {
  readonly state: PanelState;
  readonly ask: (name: string) => void;
} {
  const [state, setState] = useState<PanelState>(IDLE);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const ask = (name: string): void => {
    running.current?.abort();
    const ending = new AbortController();
    running.current = ending;
    if (name.trim() === '') {
      setState({ phase: 'empty' });
      return;
    }
    setState((before) => ({ phase: 'asking', last: before.phase === 'answered' ? before.answer : null }));
    askChecked(name.trim(), zoneWith(name.trim(), zones), ending.signal).then(
      (answer) => {
        if (!ending.signal.aborted) setState({ phase: 'answered', answer });
      },
      (error: unknown) => {
        const phase = error instanceof Unavailable ? 'unreachable' : 'notName';
        if (!ending.signal.aborted) setState({ phase });
      },
    );
  };
  return { state, ask };
}

export interface AnswerPanelProps {
  readonly state: PanelState;
  /** That this server answers for. */
  readonly zones: readonly string[];
  /** Values of a form that are understood. */
  readonly form?: string;
}

export function AnswerPanel({ state, zones, form = '' }: AnswerPanelProps) {
  const answer = state.phase === 'answered' ? state.answer : state.phase === 'asking' ? state.last : null;
  return (
    <div class="front-panel" aria-busy={state.phase === 'asking' || undefined}>
      <section class="front-value" aria-label={t('front.answer')} aria-live="polite">
        <Value state={state} answer={answer} zones={zones} form={form} />
      </section>
      <section class="front-check" aria-label={t('front.signatures')}>
        {answer === null ? null : <Verdict answer={answer} />}
      </section>
    </div>
  );
}

function Value({
  state,
  answer,
  zones,
  form = '',
}: AnswerPanelProps & { readonly answer: CheckedAnswer | null }) {
  const [zone = ''] = zones;
  if (state.phase === 'empty') return <Failure title={t('front.empty')} why={t('front.emptyWhy')} />;
  if (state.phase === 'notName')
    return <Failure title={t('front.notName')} why={t('front.notNameWhy', { zone })} />;
  if (state.phase === 'unreachable')
    return <Failure title={t('front.unreachable')} why={t('front.unreachableWhy')} />;
  if (answer === null)
    return <p class="front-caption">{state.phase === 'asking' ? t('front.asking') : ''}</p>;
  if (answer.problem !== null) {
    const { problem, code, name } = answer;
    if (problem === 'refused' && zoneWith(name, zones) === null)
      return <Failure title={t('front.outside')} why={t('front.outsideWhy', { zones: zones.join(', ') })} />;
    return (
      <>
        <Failure title={t(`front.${problem}`, { code })} why={t(`front.${problem}Why`)} />
        {problem === 'malformed' && form !== '' ? <p>{t('front.formWorks', { form })}</p> : null}
        {answer.text === null ? null : <code class="front-raw">"{answer.text}"</code>}
      </>
    );
  }
  const { headline, detail } = answerWords(answer);
  return (
    <>
      <p class="front-caption">{detail}</p>
      <p class={`front-big ${headline.length > LONG ? 'long' : ''}`}>{headline}</p>
      {answer.text === null ? null : <code class="front-raw">"{answer.text}"</code>}
    </>
  );
}

/** Characters above which a value has smaller letters. */
const LONG = 40;

/** The value for a person. */
export function answerWords({
  name,
  fields,
  data,
}: Pick<CheckedAnswer, 'name' | 'fields' | 'data'>): ValueWords {
  const words = fields === null ? null : valueWords(fields);
  if (words !== null) return words;
  const [, value = ''] = [...(fields ?? [])].find(([field]) => !COMMON.has(field)) ?? [];
  return { headline: fields === null ? (data ?? '') : value, detail: name };
}

/** Fields of every envelope. */
const COMMON: ReadonlySet<string> = new Set(['v', 's', 't', 'e', 'f', 'ttl', 'ts']);

function Failure({ title, why }: { readonly title: string; readonly why: string }) {
  return (
    <>
      <p class="front-big quiet">{title}</p>
      <p class="front-caption">{why}</p>
    </>
  );
}

function Verdict({ answer }: { readonly answer: CheckedAnswer }) {
  const { result, signatures, code } = answer;
  return (
    <>
      {code !== 'NOERROR' ? <p>{t('front.noSignature')}</p> : null}
      {code === 'NOERROR' && result === 'unsigned' ? <p>{t('front.unsigned')}</p> : null}
      {result === 'not_checked' ? <p>{t('front.notChecked')}</p> : null}
      {result === 'not_valid' ? <p class="bad">{t('front.forged')}</p> : null}
      {result === 'not_checked'
        ? null
        : signatures.map(({ algorithm, isValid }) => (
            <p key={algorithm} class={isValid ? 'good' : 'bad'}>
              <span aria-hidden="true">{isValid ? '✓' : '✗'}</span>{' '}
              {t(isValid ? 'front.valid' : 'front.notValid', { algorithm: shortName(algorithm) })}
            </p>
          ))}
      {result === 'valid' ? (
        <p class="front-caption">
          {t('front.notCompared')} <a href="/docs/threats">{t('front.notComparedWhy')}</a>
        </p>
      ) : null}
      <p class="front-caption">
        {[t('front.asked', { ms: milliseconds(answer.ms) }), ttlText(answer.ttl)]
          .filter((part) => part !== '')
          .join(' · ')}
      </p>
      {signatures.length === 0 || hasTokenLabel(answer.name) ? null : (
        <p>
          <a href={`/playground?name=${encodeURIComponent(answer.name)}&tamper=1`}>{t('front.tamper')} ›</a>
        </p>
      )}
    </>
  );
}

/** `ECDSA P-256 with SHA-256` is P-256. */
function shortName(algorithm: string): string {
  return algorithm.replace(/^ECDSA | with .*$/g, '');
}

const UNITS = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

/** 86,400 is 1 day, 90 is 90 seconds. */
export function ttlText(seconds: number | null): string {
  if (seconds === null) return '';
  if (seconds === 0) return t('front.ttlNone');
  const [length, unit] = UNITS.find(([each]) => seconds >= each && seconds % each === 0) ?? UNITS[3];
  const count = seconds / length;
  return t('front.ttl', { time: `${count} ${unit}${count === 1 ? '' : 's'}` });
}
