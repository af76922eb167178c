import { useEffect, useState } from 'preact/hooks';
import { setQuery } from '../../app/router.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { FILTER_NAMES, type FilterTexts, filterCount, isGoodFilter } from './record-filters.ts';

export interface FilterBarProps {
  readonly texts: FilterTexts;
  readonly namespaces: readonly string[];
  /** Its filter is not shown then. */
  readonly isOneNamespace: boolean;
  readonly onClear: () => void;
}

const PAUSE_MS = 300;

/** The filters, which stand in the address. */
export function FilterBar({ texts, namespaces, isOneNamespace, onClear }: FilterBarProps) {
  const set = (field: keyof FilterTexts, text: string): void => setQuery({ [FILTER_NAMES[field]]: text });
  const more = (['resource', 'ttlMin', 'ttlMax', 'after', 'before'] as const).filter(
    (field) => texts[field] !== '',
  );
  const filters = filterCount(texts) - (isOneNamespace ? 1 : 0);
  return (
    <div class="stack">
      <div class="bar">
        <SearchBox value={texts.search} onSearch={(text) => set('search', text)} />
        {isOneNamespace ? null : (
          <Select
            label={t('records.namespace')}
            value={texts.namespace}
            options={[
              { value: '', text: t('records.allNamespaces') },
              ...[...new Set([...namespaces, texts.namespace])]
                .filter((name) => name !== '')
                .map((name) => ({ value: name, text: name })),
            ]}
            onChange={(name) => set('namespace', name)}
          />
        )}
        {filters === 0 ? null : <Button onClick={onClear}>{t('records.clear')}</Button>}
      </div>
      <details open={more.length > 0}>
        <summary>{t('records.moreFilters')}</summary>
        <div class="bar">
          <FilterField texts={texts} field="resource" label={t('records.resource')} onChange={set} />
          <FilterField texts={texts} field="ttlMin" label={t('records.ttlMin')} onChange={set} />
          <FilterField texts={texts} field="ttlMax" label={t('records.ttlMax')} onChange={set} />
          <FilterField texts={texts} field="after" label={t('records.after')} isTime onChange={set} />
          <FilterField texts={texts} field="before" label={t('records.beforeTime')} isTime onChange={set} />
        </div>
      </details>
    </div>
  );
}

interface FilterFieldProps {
  readonly texts: FilterTexts;
  readonly field: keyof FilterTexts;
  readonly label: string;
  readonly isTime?: boolean;
  readonly onChange: (field: keyof FilterTexts, text: string) => void;
}

/** A filter of text, which takes effect a moment after the last letter. */
function FilterField({ texts, field, label, isTime = false, onChange }: FilterFieldProps) {
  const value = texts[field];
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onChange(field, typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return (
    <TextField
      label={label}
      type={isTime ? 'datetime-local' : 'text'}
      value={typed}
      onInput={setTyped}
      error={isGoodFilter(field, typed) ? null : t('records.faultFilter')}
    />
  );
}
