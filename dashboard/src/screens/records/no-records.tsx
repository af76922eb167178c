import type { ComponentChildren } from 'preact';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import type { FilterTexts } from './record-filters.ts';

export interface NoRecordsProps {
  readonly texts: FilterTexts;
  readonly filters: number;
  readonly onClear: () => void;
  readonly children: ComponentChildren;
}

/** A list without a row: what was looked for, or how the first record is made. */
export function NoRecords({ texts: { namespace, search }, filters, onClear, children }: NoRecordsProps) {
  if (filters > 0) {
    return (
      <div class="empty">
        <h2>{tn('records.noMatch', filters)}</h2>
        {search === '' ? null : <p>{t('records.noMatchSearch', { word: search.trim() })}</p>}
        <Button onClick={onClear}>{t('records.clear')}</Button>
      </div>
    );
  }
  const place = namespace === '' ? 'acme' : namespace;
  return (
    <EmptyState
      title={namespace === '' ? t('records.emptyAll') : t('records.empty', { namespace })}
      text={t('records.emptyText')}
      command={`${keyedCurl()} -s ${location.origin}/api/v1/records \\\n  -H 'Content-Type: application/json' \\\n  -d '{"record": {"key": "greeting.${place}.v1", "data": "aGVsbG8=", "content_type": "text/plain"}}'`}
    >
      {children}
    </EmptyState>
  );
}
