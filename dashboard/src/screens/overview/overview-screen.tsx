import { useEffect, useState } from 'preact/hooks';
import type { QueryCounts, Usage } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { place, setQuery } from '../../app/router.ts';
import { useResource } from '../../data/resource.ts';
import { usePoll } from '../../data/use-poll.ts';
import { t } from '../../text/text.ts';
import { Chips } from '../../ui/chips.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { useNamespaces } from '../namespaces/use-namespaces.ts';
import { LimitGauges } from '../usage/limit-gauges.tsx';
import { limitsOf } from '../usage/usage-parts.ts';
import { Attention } from './attention.tsx';
import { Checklist, isChecklistHidden } from './checklist.tsx';
import { Figures } from './figures.tsx';
import { TopResources, Traffic } from './traffic.tsx';

type Window = QueryCounts['window'];
const WINDOWS: readonly Window[] = ['24h', '7d', '30d'];
const FRESH_MS = 10_000;
/** Milliseconds between two looks: the first answer of an account should not be long in coming. */
const POLL_MS = { empty: 3_000, full: 30_000 } as const;
/** A limit is shown from this part of it on. */
const SHOWN_FROM = 0.5;

export function OverviewScreen() {
  const asked = place.value.query.get('window');
  const window = WINDOWS.find((one) => one === asked) ?? '24h';
  // Under `usage`: what changes the usage changes this.
  const overview = useResource(`usage overview ${window}`, (signal) => api.overview({ window, signal }), {
    freshMs: FRESH_MS,
  });
  const { value } = overview;
  const [areStepsKnown, setStepsKnown] = useState(false);
  const isUsed = value !== undefined && (value.usage.records.used > 0 || value.usage.webhooks.used > 0);
  usePoll(isUsed ? POLL_MS[value.queries.total === 0 ? 'empty' : 'full'] : null, overview.poll);
  const windows = WINDOWS.map((one) => ({ value: one, text: t(`overview.window${one}`) }));
  return (
    <Page
      title={t('overview.title')}
      actions={
        isUsed ? (
          <Chips
            label={t('overview.window')}
            chips={windows}
            chosen={window}
            onChange={(next) => setQuery({ window: next === null || next === '24h' ? null : next })}
          />
        ) : undefined
      }
    >
      {overview.error === undefined ? null : <ErrorNote error={overview.error} again={overview.again} />}
      {overview.state === 'loading' ? <Loading /> : null}
      {value === undefined ? null : (
        <FirstSteps usage={value.usage} queries={value.queries.total} onKnown={() => setStepsKnown(true)} />
      )}
      {/* A new account has nothing to count yet. What stands below the first steps comes after them: it would move. */}
      {value !== undefined && isUsed && areStepsKnown ? (
        <div class="overview full-width">
          <Figures queries={value.queries} />
          <div class="stack">
            <Traffic queries={value.queries} />
            <TopResources resources={value.resources} />
          </div>
          <div class="stack">
            <Attention />
            <NearLimits usage={value.usage} />
          </div>
        </div>
      ) : null}
    </Page>
  );
}

interface FirstStepsProps {
  readonly usage: Usage;
  /** Of the time that is shown. */
  readonly queries: number;
  /** They are shown whole, or will not be shown. */
  readonly onKnown: () => void;
}

/** Private reads of a month above which somebody is no newcomer, though nothing was asked today. */
const READS_OF_NEWCOMERS = 20;

/** Milliseconds after which the page no longer waits for them. */
const PATIENCE_MS = 1000;

/** Reads what the steps need while one is left. */
function FirstSteps({ usage, queries, onKnown }: FirstStepsProps) {
  const { namespaces, records, metered } = usage;
  const isUsed = queries > 0 || metered.total_authenticated_queries > READS_OF_NEWCOMERS;
  // Who has asked before needs no last step; the steps that were open stay until they are done.
  const [wasOpen] = useState(!(namespaces.used > 0 && records.used > 0 && isUsed));
  const isShown = wasOpen && !isChecklistHidden();
  useEffect(() => {
    const timer = setTimeout(onKnown, isShown ? PATIENCE_MS : 0);
    return () => clearTimeout(timer);
  }, []);
  return isShown ? <OpenSteps usage={usage} queries={queries} onKnown={onKnown} /> : null;
}

function OpenSteps({ usage, queries, onKnown }: FirstStepsProps) {
  const namespaces = useNamespaces();
  if (namespaces.state === 'failed') return <ErrorNote error={namespaces.error} again={namespaces.again} />;
  return namespaces.state === 'ready' ? (
    <Checklist usage={usage} namespaces={namespaces.value} queries={queries} onKnown={onKnown} />
  ) : null;
}

/** Limits of which half is used, and the way to the others. */
function NearLimits({ usage }: { readonly usage: Usage }) {
  const near = limitsOf(usage).filter(({ used, limit }) => used >= limit * SHOWN_FROM);
  return (
    <section class="card stack" aria-labelledby="near-limits">
      <h2 id="near-limits">{t('overview.limits')}</h2>
      {near.length === 0 ? <p class="dim">{t('overview.limitsFar')}</p> : <LimitGauges limits={near} />}
      <p>
        <a href="/usage">{t('overview.toUsage')}</a>
      </p>
    </section>
  );
}
