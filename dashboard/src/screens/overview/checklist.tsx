/** The first steps of an account, with a tick for each that is done. */
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { NamespaceResource, QueryLogRow, Usage } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { readSetting, writeSetting } from '../../app/settings.ts';
import { invalidate, useResource } from '../../data/resource.ts';
import { usePoll } from '../../data/use-poll.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { lazy } from '../../ui/lazy.tsx';
import type { DnsAnswer } from '../records/dns-answer.ts';
import { doneSteps, nextStep, type StepName, stepsOf } from './first-steps.ts';
import { SampleData } from './sample-data.tsx';
import { FirstAnswer, NamespaceStep, ReadStep, RecordStep } from './step-forms.tsx';

/** Milliseconds between looks at what was done elsewhere: by a command, or in another window. */
const LOOK_MS = 3000;

const DigStep = lazy(async () => (await import('./last-steps.tsx')).DigStep);
const Arrived = lazy(async () => (await import('./last-steps.tsx')).Arrived);
const CodeStep = lazy(async () => (await import('./last-steps.tsx')).CodeStep);

const isHidden = signal(readSetting('checklist') === 'hidden');

/** Whether it was put away, in this browser. */
export function isChecklistHidden(): boolean {
  return isHidden.value;
}

export interface ChecklistProps {
  readonly usage: Usage;
  readonly namespaces: readonly NamespaceResource[];
  /** Queries that the query log has. */
  readonly queries: number;
  /** Everything that the next step shows is there. */
  readonly onKnown: () => void;
}

export function Checklist({ usage, namespaces, queries, onKnown }: ChecklistProps) {
  const { value: meta } = useMeta();
  const withRecords = namespaces.find((one) => one.records_count > 0);
  const namespace = withRecords ?? namespaces[0];
  const first = useFirstKey(withRecords);
  const [answer, setAnswer] = useState<DnsAnswer | null>(null);
  const [arrived, setArrived] = useState<QueryLogRow | null>(null);
  const steps = stepsOf(usage.webhooks.limit > 0, meta?.endpoints.dns !== null);
  const done = doneSteps(steps, {
    namespaces: usage.namespaces.used,
    records: usage.records.used,
    reads: usage.metered.total_authenticated_queries + (answer?.kind === 'record' ? 1 : 0),
    queries: queries + (arrived === null ? 0 : 1),
    webhooks: usage.webhooks.used,
    hasCode: false,
  });
  const next = nextStep(steps, done);
  const hasWaited = useRef(false);
  if (next === 'dig') hasWaited.current = true;
  const hide = (): void => {
    writeSetting('checklist', 'hidden');
    setAnswer(null);
    isHidden.value = true;
  };
  usePoll(next === null ? null : LOOK_MS, () => {
    invalidate('usage');
    invalidate('namespaces');
  });
  const section = useRef<HTMLElement>(null);
  const before = useRef(next);
  // Before the next key: what is typed after a step belongs into the form of the next one.
  useLayoutEffect(() => {
    if (before.current === next) return;
    const first = section.current?.querySelector<HTMLElement>('[aria-current] :is(a, button, input)');
    // The form of the next step may still be read.
    if (first === null || first === undefined) return;
    before.current = next;
    // The form of the step before had the focus, and is gone.
    if (document.activeElement === document.body) first.focus();
  });
  const isWhole =
    next === null || next === 'namespace' || next === 'record' || (meta !== undefined && first !== null);
  useEffect(() => {
    if (isWhole) onKnown();
  }, [isWhole]);
  if (next === null || isHidden.value) return null;
  const form = (step: StepName) => {
    if (step === 'namespace')
      return (
        <>
          <NamespaceStep />
          <SampleData />
        </>
      );
    if (step === 'record' && namespace !== undefined)
      return <RecordStep key={namespace.id} namespace={namespace} />;
    if (step === 'webhook') return <a href="/webhooks">{t('overview.toWebhooks')}</a>;
    if (meta === undefined || withRecords === undefined || first === null) return null;
    const record = { meta, namespace: withRecords, recordKey: first };
    if (step === 'dig') return <DigStep {...record} onArrival={setArrived} />;
    if (step === 'code') return <CodeStep {...record} onDone={hide} />;
    return <ReadStep {...record} onAnswer={setAnswer} />;
  };
  return (
    <section ref={section} class="card stack checklist" aria-labelledby="first-steps">
      <header>
        <h2 id="first-steps">{t('overview.firstSteps')}</h2>
        {usage.records.used === 0 ? null : (
          <Button tone="quiet" onClick={hide}>
            {t('overview.hide')}
          </Button>
        )}
      </header>
      <ol>
        {steps.map((step) => (
          <li
            key={step}
            class={done.has(step) ? 'done' : ''}
            aria-current={step === next ? 'step' : undefined}
          >
            <span class="tick-mark" aria-hidden="true">
              {done.has(step) ? '✓' : ''}
            </span>
            <div class="stack">
              <span>
                {t(`overview.step_${step}`)}
                <span class="hidden"> {t(done.has(step) ? 'overview.done' : 'overview.open')}</span>
              </span>
              {step === next ? form(step) : null}
              {step === 'dig' && done.has('dig') && hasWaited.current && withRecords !== undefined ? (
                <Arrived row={arrived} namespace={withRecords.name} />
              ) : null}
              {step === 'read' && answer !== null && first !== null ? (
                <FirstAnswer recordKey={first} answer={answer} />
              ) : null}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A key in the namespace; null: not known yet, or there is none. */
function useFirstKey(namespace: NamespaceResource | undefined): string | null {
  const key = namespace === undefined ? null : `first-record ${namespace.id}`;
  const { value } = useResource(key, async (signal) => {
    const { items } = await api.records.list({ namespace: namespace?.name }, { limit: 1, signal }).page();
    return items[0]?.key ?? null;
  });
  return value ?? null;
}
