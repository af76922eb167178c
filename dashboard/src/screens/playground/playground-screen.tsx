import { useEffect, useRef, useState } from 'preact/hooks';
import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';
import { handedName } from '../../app/handed-name.ts';
import { useMeta } from '../../app/meta.ts';
import { place, setQuery } from '../../app/router.ts';
import { hasTokenLabel, maskName, unmaskName } from '../../format/masked-name.ts';
import { t } from '../../text/text.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { lazy } from '../../ui/lazy.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { type Arrived, ASKS_MAX, ask } from './asked.ts';
import { type ExperimentId, questionOf } from './experiments.ts';
import { ExperimentNote, ExperimentsList } from './experiments-list.tsx';
import { mayBeAskedWhileTyping, withZone, zoneOf } from './name-parts.ts';
import { type Question, QuestionForm } from './question-form.tsx';
import { TYPES } from './snippets.ts';

/** The form is there before the code that reads answers. */
const AnswerPane = lazy(async () => (await import('./answer-pane.tsx')).AnswerPane);
const LastAsks = lazy(async () => (await import('./last-asks.tsx')).LastAsks);

const FIRST = 'get.5-km-to-mi.units.public.v1';
/** Milliseconds without a letter, after which a whole name is asked. */
const TYPING_PAUSE_MS = 400;

/** Asks this server over DNS, and shows everything of the answer. */
export function PlaygroundScreen() {
  const meta = useMeta();
  return (
    <Page title={t('playground.title')}>
      {meta.state === 'loading' ? <Loading /> : null}
      {meta.state === 'failed' ? <ErrorNote error={meta.error} again={meta.again} /> : null}
      {meta.state === 'ready' ? <Playground meta={meta.value} /> : null}
    </Page>
  );
}

/** The name of the address; null: none. One with a token is not followed. */
function linkedName(query: URLSearchParams): string | null {
  const name = query.get('name') ?? '';
  return name === '' || hasTokenLabel(name) ? null : name;
}

function questionOfPlace(query: URLSearchParams, zone: string): Question {
  return {
    masked: { name: linkedName(query) ?? `${FIRST}.${zone}`, token: null },
    type: TYPES.find((type) => type === query.get('type')) ?? 'TXT',
    dnssecOk: true,
    checkingDisabled: false,
    transport: 'POST',
  };
}

/** Two questions with the same key have the same answer. */
function keyOf({ masked, ...options }: Question): string {
  return JSON.stringify([unmaskName(masked), options]);
}

function Playground({ meta }: { readonly meta: Meta }) {
  const zone = meta.zones[0] ?? 'uqrp.net';
  const [question, setQuestion] = useState(() => questionOfPlace(place.peek().query, zone));
  const [asks, setAsks] = useState<readonly Arrived[]>([]);
  const [shown, setShown] = useState<Arrived | null>(null);
  /** Id of the ask whose answer comes with a changed octet: the address says so. */
  const [tampered, setTampered] = useState<number | null>(null);
  const [compared, setCompared] = useState<Arrived | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [isQuiet, setQuiet] = useState(false);
  const [asksWhileTyping, setAsksWhileTyping] = useState(true);
  const [experiment, setExperiment] = useState<ExperimentId | null>(null);
  const running = useRef<AbortController | null>(null);
  const lastKey = useRef(keyOf(question));
  /** What this screen has written into the address by itself and has not seen there yet, the oldest first. */
  const written = useRef<string[]>([]);
  const pane = useRef<HTMLDivElement>(null);
  const goesToAnswer = useRef(false);

  const send = async (asked: Question, isTyped: boolean, isTampered = false): Promise<void> => {
    running.current?.abort();
    const ending = new AbortController();
    running.current = ending;
    lastKey.current = keyOf(asked);
    const { masked, type } = asked;
    const isSecret = hasTokenLabel(masked.name);
    // An address is kept in the history: a name with a token is not written there.
    const { query: before } = place.peek();
    if (!isSecret && (before.get('name') !== masked.name || (before.get('type') ?? 'TXT') !== type))
      written.current.push(`${masked.name} ${type}`);
    setQuery({ name: isSecret ? null : masked.name, type: type === 'TXT' ? null : type, tamper: null });
    setBusy(true);
    setError(null);
    try {
      const transport = isSecret ? 'POST' : asked.transport;
      const whole = { ...asked, transport, name: unmaskName(masked), zone: zoneOf(masked.name, meta.zones) };
      const arrived = await ask(whole, location.origin, !isTyped, ending.signal);
      setQuiet(isTyped);
      if (isTampered) setTampered(arrived.id);
      goesToAnswer.current = !isTyped;
      setAsks((before) => [arrived, ...before].slice(0, ASKS_MAX));
      setShown(arrived);
    } catch (fault) {
      if (ending.signal.aborted) return;
      setShown(null);
      setError(
        fault instanceof RangeError
          ? new Error(t('playground.noName', { example: `${FIRST}.${zone}` }))
          : fault,
      );
    } finally {
      if (running.current === ending) setBusy(false);
    }
  };
  const onAsk = (asked: Question, isTampered = false): void => {
    const masked = maskName(withZone(asked.masked.name, meta.zones), asked.masked.token);
    setQuestion({ ...asked, masked });
    void send({ ...asked, masked }, false, isTampered);
  };
  const onExperiment = (id: ExperimentId): void => {
    const { name, type } = questionOf(id, zone);
    setExperiment(id);
    onAsk({ ...question, masked: { name, token: null }, type, dnssecOk: true, transport: 'POST' });
  };

  // A link that somebody shared is asked at once, also one that is followed while this screen is shown.
  const { query } = place.value;
  const linked = linkedName(query);
  useEffect(() => {
    if (hasTokenLabel(query.get('name') ?? '')) setQuery({ name: null });
    const next = questionOfPlace(query, zone);
    if (linked === null) return;
    const own = written.current.indexOf(`${linked} ${next.type}`);
    // Those before it were overtaken.
    written.current.splice(0, own + 1);
    if (own >= 0) return;
    setExperiment(null);
    onAsk(next, query.get('tamper') === '1');
    // Only the address asks: what is shown changes with each answer.
  }, [linked, query.get('type')]);
  const handed = handedName.value;
  useEffect(() => {
    if (handed === null) return;
    handedName.value = null;
    setExperiment(null);
    onAsk({ ...question, masked: maskName(handed, null) });
  }, [handed]);
  useEffect(() => () => running.current?.abort(), []);

  const key = keyOf(question);
  const isWaiting =
    asksWhileTyping && key !== lastKey.current && mayBeAskedWhileTyping(question.masked.name, meta.zones);
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setTimeout(() => void send(question, true), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [key, isWaiting]);

  return (
    <div class="bench">
      <QuestionForm
        question={question}
        zones={meta.zones}
        dns={meta.endpoints.dns}
        isBusy={isBusy}
        asksWhileTyping={asksWhileTyping}
        onAsksWhileTyping={setAsksWhileTyping}
        onChange={(changed) => {
          setExperiment(null);
          setQuestion(changed);
        }}
        onAsk={(asked) => onAsk(asked)}
      />
      <div class="bench-more">
        <ExperimentsList chosen={experiment} onChoose={onExperiment} />
        {asks.length < 2 ? null : (
          <LastAsks
            asks={asks}
            shown={shown}
            compared={compared}
            onShow={(one) => {
              goesToAnswer.current = true;
              setShown(one);
            }}
            onCompare={setCompared}
          />
        )}
      </div>
      <div class="bench-answer" ref={pane}>
        <AnswerPane
          arrived={shown}
          compared={compared}
          isQuiet={isQuiet}
          isTampered={shown !== null && shown.id === tampered}
          isBusy={isBusy}
          onShown={() => {
            if (goesToAnswer.current) showAnswer(pane.current);
            goesToAnswer.current = false;
          }}
        >
          {error === null ? null : <ErrorNote error={error} again={() => onAsk(question)} />}
          {experiment === null ? null : <ExperimentNote chosen={experiment} />}
        </AnswerPane>
      </div>
    </div>
  );
}

/** Moves the page to the answer where it begins outside of what is seen, as on a phone. The focus stays on the button. */
function showAnswer(pane: HTMLElement | null): void {
  if (pane === null) return;
  const { top } = pane.getBoundingClientRect();
  if (top >= 0 && top < innerHeight / 2) return;
  const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  pane.scrollIntoView({ block: 'start', behavior: isCalm ? 'auto' : 'smooth' });
}
