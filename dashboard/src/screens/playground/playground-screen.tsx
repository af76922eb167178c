import { useEffect, useRef, useState } from 'preact/hooks';
import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';
import { useMeta } from '../../app/meta.ts';
import { place, setQuery } from '../../app/router.ts';
import { t } from '../../text/text.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { AnswerRegion } from './answer-region.tsx';
import { type Arrived, askTwice } from './asked.ts';
import { type ExperimentId, questionOf } from './experiments.ts';
import { ExperimentsList } from './experiments-list.tsx';
import { hasTokenLabel, maskName, unmaskName } from './masked-name.ts';
import { zoneOf } from './name-parts.ts';
import { type Question, QuestionForm } from './question-form.tsx';
import { TYPES } from './snippets.ts';

const FIRST = 'get.5-km-to-mi.units.public.v1';

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

/** The question of the address, or the first one to try. An address with a token is not followed. */
function firstQuestion(zone: string): Question {
  const { query } = place.peek();
  const name = query.get('name') ?? '';
  const isGood = name !== '' && !hasTokenLabel(name);
  return {
    masked: { name: isGood ? name : `${FIRST}.${zone}`, token: null },
    type: TYPES.find((type) => type === query.get('type')) ?? 'TXT',
    dnssecOk: true,
    checkingDisabled: false,
    transport: 'POST',
  };
}

function Playground({ meta }: { meta: Meta }) {
  const zone = meta.zones[0] ?? 'uqrp.net';
  const [question, setQuestion] = useState(() => firstQuestion(zone));
  const [arrived, setArrived] = useState<Arrived | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [experiment, setExperiment] = useState<ExperimentId | null>(null);
  const running = useRef<AbortController | null>(null);
  useEffect(() => {
    if (hasTokenLabel(place.peek().query.get('name') ?? '')) setQuery({ name: null });
    return () => running.current?.abort();
  }, []);

  const ask = async (asked: Question): Promise<void> => {
    running.current?.abort();
    const ending = new AbortController();
    running.current = ending;
    const { masked, type } = asked;
    // An address is kept in the history: a name with a token is not written there.
    setQuery({ name: hasTokenLabel(masked.name) ? null : masked.name, type: type === 'TXT' ? null : type });
    setBusy(true);
    setError(null);
    try {
      const whole = { ...asked, name: unmaskName(masked), zone: zoneOf(masked.name, meta.zones) };
      setArrived(await askTwice(whole, location.origin, ending.signal));
    } catch (fault) {
      if (ending.signal.aborted) return;
      setArrived(null);
      setError(fault);
    } finally {
      if (running.current === ending) setBusy(false);
    }
  };
  const onSubmit = (asked: Question): void => {
    const masked = maskName(asked.masked.name, asked.masked.token);
    setQuestion({ ...asked, masked });
    void ask({ ...asked, masked });
  };
  const onExperiment = (id: ExperimentId): void => {
    const { name, type } = questionOf(id, zone);
    setExperiment(id);
    onSubmit({ ...question, masked: { name, token: null }, type, dnssecOk: true, transport: 'POST' });
  };
  return (
    <>
      <p class="dim">{t('playground.intro')}</p>
      <QuestionForm
        question={question}
        zones={meta.zones}
        dns={meta.endpoints.dns}
        isBusy={isBusy}
        onChange={(changed) => {
          setExperiment(null);
          setQuestion(changed);
        }}
        onAsk={onSubmit}
      />
      {error === null ? null : <ErrorNote error={error} again={() => onSubmit(question)} />}
      <ExperimentsList chosen={experiment} onChoose={onExperiment} />
      {arrived === null ? null : <AnswerRegion arrived={arrived} />}
    </>
  );
}
