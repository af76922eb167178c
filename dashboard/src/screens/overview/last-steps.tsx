/** The last of the first steps: an own `dig` that arrives, and an own program. Loaded when they are reached. */
import { useEffect, useState } from 'preact/hooks';
import type { Meta, NamespaceResource, QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { startTail } from '../../data/live-tail.ts';
import { useResource } from '../../data/resource.ts';
import { milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { tokenFor } from '../records/page-tokens.ts';
import { plainDig, queryName } from '../tokens/token-command.ts';
import { type OwnCode, ownCode } from './own-code.ts';

interface OfRecord {
  readonly meta: Meta;
  readonly namespace: NamespaceResource;
  /** Of a record in it. */
  readonly recordKey: string;
}

export interface DigStepProps extends OfRecord {
  /** A query of the namespace was answered. */
  readonly onArrival: (row: QueryLogRow) => void;
}

/** The command for a terminal, with a token in it, and the wait for what it asks. */
export function DigStep({ meta, namespace, recordKey, onArrival }: DigStepProps) {
  const token = useResource(`first-dig ${namespace.id}`, () => tokenFor(namespace), { freshMs: 0 });
  const [isLive, setLive] = useState(false);
  useEffect(
    () =>
      startTail({
        stream: (options) => api.queryLogs.stream({ namespace: namespace.name }, options),
        onEvents: (events) => {
          const row = events.find((event) => event.kind === 'row');
          if (row !== undefined) onArrival(row.row);
        },
        onPhase: (phase) => setLive(phase === 'live'),
      }),
    [namespace.name],
  );
  if (token.state === 'failed') return <ErrorNote error={token.error} again={token.again} />;
  if (token.state === 'loading') return <Loading />;
  const dig = plainDig(queryName(recordKey, token.value, meta.zones[0] ?? ''), meta);
  return (
    <div class="stack">
      <p>{t('overview.digText')}</p>
      <CodeBlock code={dig ?? ''} label={t('overview.digLabel')} />
      <p class="waiting" role="status">
        {t(isLive ? 'overview.digWaiting' : 'overview.digConnecting')}
      </p>
      {token.value === null ? null : <p class="dim">{t('overview.digToken')}</p>}
    </div>
  );
}

export interface ArrivedProps {
  /** Null: something else than the stream told first that there is one. */
  readonly row: QueryLogRow | null;
  /** Name of the namespace. */
  readonly namespace: string;
}

/** What the query log says of the query. */
export function Arrived({ row, namespace }: ArrivedProps) {
  const newest = useResource(row === null ? `first-query ${namespace}` : null, async (signal) => {
    const { items } = await api.queryLogs.list({ namespace }, { limit: 1, signal }).page();
    return items[0] ?? null;
  });
  const told = row ?? newest.value ?? null;
  if (told === null) return null;
  const { transport, duration_ms: ms, status } = told;
  return (
    <section class="note good" aria-label={t('overview.arrival')}>
      <p>
        <strong>{t('overview.there')}</strong>{' '}
        {t('overview.thereRow', {
          transport: transport.toUpperCase(),
          ms: ms === 0 ? t('overview.underOne') : milliseconds(ms),
          status,
        })}
      </p>
      <p>
        <a href="/query-log">{t('overview.toQueryLog')}</a>
      </p>
    </section>
  );
}

export interface CodeStepProps extends OfRecord {
  readonly onDone: () => void;
}

const NAMES = { shell: 'overview.codeShell', python: 'overview.codePython', c: 'overview.codeC' } as const;

export function CodeStep({ meta, namespace, recordKey, onDone }: CodeStepProps) {
  const isOpen = namespace.public_read === true;
  const all = ownCode(recordKey, meta, isOpen);
  const [current, setCurrent] = useState<OwnCode['id']>(all[0]?.id ?? 'python');
  const shown = all.find(({ id }) => id === current);
  return (
    <div class="stack">
      <Tabs
        label={t('overview.codeTabs')}
        tabs={all.map(({ id }) => ({ id, text: t(NAMES[id]) }))}
        current={current}
        onChange={(id) => setCurrent(id as OwnCode['id'])}
      >
        {shown === undefined ? null : (
          <CodeBlock
            code={shown.code}
            label={t(NAMES[shown.id])}
            language={shown.id === 'shell' ? 'shell' : 'text'}
          />
        )}
      </Tabs>
      {isOpen ? null : (
        <p>
          <a href={`/namespaces/${encodeURIComponent(namespace.name)}?tab=tokens`}>
            {t('overview.makeToken')}
          </a>
        </p>
      )}
      <div class="actions">
        <Button tone="primary" onClick={onDone}>
          {t('overview.codeDone')}
        </Button>
      </div>
    </div>
  );
}
