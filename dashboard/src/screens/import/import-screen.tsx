import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Meta, NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { askBeforeLeaving, place } from '../../app/router.ts';
import { invalidate } from '../../data/resource.ts';
import { count } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { useNamespaces } from '../namespaces/use-namespaces.ts';
import { stepsOf } from '../records/bulk-job.ts';
import { BulkRun } from '../records/bulk-run.tsx';
import { limitsOf } from '../records/record-rules.ts';
import { useBulkJob } from '../records/use-bulk-job.ts';
import { checkedRows } from './candidate.ts';
import { parseFile } from './file-format.ts';
import { FilePick, type PickedFile } from './file-pick.tsx';
import { type Plan, planOf, toWrite } from './plan.ts';
import { PlanView, refusalText } from './plan-view.tsx';
import { resultFile } from './result-file.ts';
import { storedRecords } from './stored-records.ts';

/** `/records/import` */
export function ImportScreen() {
  const meta = useMeta();
  const namespaces = useNamespaces();
  const wanted = place.value.query.get('namespace') ?? '';
  return (
    <Page title={t('import.title')} actions={<a href={backTo(wanted)}>{t('import.back')}</a>}>
      {meta.state === 'failed' ? <ErrorNote error={meta.error} again={meta.again} /> : null}
      {namespaces.state === 'failed' ? <ErrorNote error={namespaces.error} again={namespaces.again} /> : null}
      {meta.state === 'loading' || namespaces.state === 'loading' ? <Loading /> : null}
      {meta.state === 'ready' && namespaces.state === 'ready' ? (
        namespaces.value.length === 0 ? (
          <EmptyState title={t('import.noNamespace')} text={t('import.noNamespaceText')}>
            <a class="button" href="/namespaces">
              {t('import.toNamespaces')}
            </a>
          </EmptyState>
        ) : (
          <Import
            meta={meta.value}
            namespaces={namespaces.value.filter(({ suspended }) => suspended !== true)}
            wanted={wanted}
          />
        )
      ) : null}
    </Page>
  );
}

function backTo(namespace: string): string {
  return namespace === '' ? '/records' : `/records?namespace=${encodeURIComponent(namespace)}`;
}

interface ImportProps {
  readonly meta: Meta;
  readonly namespaces: readonly NamespaceResource[];
  readonly wanted: string;
}

/** Choose a file, see what it would do, do it, keep the result. */
function Import({ meta, namespaces, wanted }: ImportProps) {
  const [plan, setPlan] = useState<Plan | null>(null);
  const [compared, setCompared] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(undefined);
  const reading = useRef(new AbortController());
  const bulk = useBulkJob();
  const isRunning = bulk.state === 'running';
  useEffect(() => () => reading.current.abort(), []);
  // Once the page says that it is done, nobody is asked.
  useLayoutEffect(
    () => (isRunning ? askBeforeLeaving(() => confirm(t('import.leave'))) : undefined),
    [isRunning],
  );
  useEffect(() => {
    if (bulk.state !== 'ended') return;
    invalidate('records');
    invalidate('namespaces');
    invalidate('usage');
  }, [bulk.state]);

  const forget = (): void => {
    reading.current.abort();
    setPlan(null);
    setError(undefined);
    setCompared(null);
  };
  const dryRun = async ({ format, text, place: at }: PickedFile): Promise<void> => {
    forget();
    const ending = new AbortController();
    reading.current = ending;
    setCompared(0);
    try {
      const context = {
        limits: limitsOf(meta.limits),
        namespaces: new Set(namespaces.map(({ name }) => name)),
        now: Date.now(),
      };
      const rows = checkedRows(parseFile(format, text, at), context);
      const keys = new Set(rows.flatMap(({ record }) => (record === null ? [] : [record.key])));
      const stored = await storedRecords(api, namespaces, keys, setCompared, ending.signal);
      if (!ending.signal.aborted) setPlan(planOf(rows, stored, meta.limits.ttl_seconds_default ?? 300));
    } catch (failure) {
      if (!ending.signal.aborted) setError(failure);
    } finally {
      if (!ending.signal.aborted) setCompared(null);
    }
  };
  const writes = plan === null ? [] : toWrite(plan);
  const limit = count(meta.limits.writes_per_minute ?? 60);
  return (
    <>
      {bulk.state === 'idle' ? (
        <FilePick
          namespaces={namespaces.map(({ name }) => name)}
          wanted={wanted}
          onPicked={dryRun}
          onChange={forget}
        />
      ) : null}
      {compared === null ? null : (
        <p role="status" class="loading">
          {t('import.comparing', { count: count(compared) })}
        </p>
      )}
      {error === undefined ? null : <ErrorNote error={error} />}
      {plan === null ? null : (
        <>
          <PlanView plan={plan} meta={meta} outcomes={bulk.outcomes()} />
          {bulk.state === 'idle' ? (
            <div class="actions">
              <Button
                tone="primary"
                isDisabled={writes.length === 0}
                onClick={() => {
                  if (bulk.state === 'idle') bulk.start(writes);
                }}
              >
                {tn('import.start', writes.length)}
              </Button>
              <span>
                {writes.length === 0
                  ? t('import.nothing')
                  : tn('import.writes', stepsOf(writes.length), { limit })}
              </span>
            </div>
          ) : (
            <BulkRun bulk={bulk} />
          )}
          {bulk.state === 'ended' ? (
            <div class="actions">
              <Button
                onClick={() =>
                  saveFile(
                    'import-result.jsonl',
                    'application/x-ndjson',
                    resultFile(plan, bulk.outcomes(), (reason) => refusalText(reason, meta)),
                  )
                }
              >
                {t('import.result')}
              </Button>
              <a class="button" href={backTo(wanted)}>
                {t('import.back')}
              </a>
            </div>
          ) : null}
        </>
      )}
    </>
  );
}
