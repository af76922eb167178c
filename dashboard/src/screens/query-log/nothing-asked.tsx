import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { digLine } from './dig-line.ts';

/** No query came in 24 hours: a command for a record of the account, and the page waits for it. */
export function NothingAsked() {
  const meta = useMeta();
  const records = useResource('query-log record', (signal) =>
    api.records.list({}, { limit: 1, signal }).page(),
  );
  const key = records.value?.items[0]?.key;
  const line = meta.value === undefined || key === undefined ? null : digLine(meta.value, key);
  return (
    <div class="stack">
      <EmptyState title={t('queryLog.emptyTitle')} text={t('queryLog.emptyText')}>
        {records.value !== undefined && key === undefined ? (
          <a class="button primary" href="/records">
            {t('queryLog.makeRecord')}
          </a>
        ) : null}
      </EmptyState>
      {line === null ? null : <CodeBlock code={line} label="dig" />}
      <p role="status">{t('queryLog.waiting')}</p>
    </div>
  );
}
