import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { NamespaceResource, RecordFacets } from '../../../../sdk/src/uqrp-sdk.ts';
import { foldCase } from '../../../../src/protocol/names/labels.ts';
import { setQuery } from '../../app/router.ts';
import { count } from '../../format/format.ts';
import { hasTokenLabel } from '../../format/masked-name.ts';
import { t } from '../../text/text.ts';
import { Chips } from '../../ui/chips.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { CloseIcon, Icon } from '../../ui/icon.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { useTyped } from '../../ui/use-typed.ts';
import { FILTER_NAMES, type FilterTexts, isGoodFilter } from './record-filters.ts';

export interface FilterBarProps {
  readonly texts: FilterTexts;
  readonly namespaces: readonly NamespaceResource[];
  /** Of the chosen namespace. Undefined: they are not read yet. */
  readonly facets: RecordFacets | undefined;
  /** Its filter is not shown then. */
  readonly isOneNamespace: boolean;
  /** Beside the box. */
  readonly children: ComponentChildren;
}

const PAUSE_MS = 300;
/** Chips of each kind. */
const SHOWN = 6;

type FacetName = 'resource' | 'namespace';

/** One box for all that is typed, with what can be chosen below it. The filters stand in the address. */
export function FilterBar({ texts, namespaces, facets, isOneNamespace, children }: FilterBarProps) {
  const [typed, setTyped] = useState(texts.search);
  const [boxes, setBoxes] = useState(0);
  const set = (field: keyof FilterTexts, text: string): void => setQuery({ [FILTER_NAMES[field]]: text });
  const chosen = (isOneNamespace ? (['resource'] as const) : (['resource', 'namespace'] as const)).filter(
    (field) => texts[field] !== '',
  );
  const owned = namespaces
    .filter(({ records_count }) => records_count > 0)
    .map(({ name, records_count: records }) => ({ name, records }))
    .sort((a, b) => b.records - a.records);
  const offered = (field: FacetName): Parameters<typeof Chips>[0]['chips'] => {
    const all = field === 'resource' ? (facets?.resources ?? []) : owned;
    const word = foldCase(typed.trim());
    const fitting = all.filter(({ name }) => word === '' || name.includes(word));
    const shown = (fitting.length > 0 ? fitting : all).slice(0, SHOWN);
    const own = texts[field];
    return [
      ...shown,
      ...all.filter(({ name }) => name === own && !shown.some((one) => one.name === own)),
    ].map(({ name, records }) => ({ value: name, text: name, count: records }));
  };
  const choose = (field: FacetName, name: string | null): void => {
    // What was typed to find it is done, also before its pause is over: another box begins empty.
    setBoxes((count) => count + 1);
    setQuery({ [FILTER_NAMES[field]]: name, [FILTER_NAMES.search]: null });
  };
  return (
    <div class="record-filters">
      <div class="record-top">
        <div class="filter-box">
          {chosen.map((field) => (
            <button
              key={field}
              type="button"
              class="chosen"
              aria-label={t('records.takeAway', { what: `${t(`records.is_${field}`)} ${texts[field]}` })}
              onClick={() => set(field, '')}
            >
              {t(`records.is_${field}`)} <strong>{texts[field]}</strong> <Icon of={CloseIcon} />
            </button>
          ))}
          <SearchBox
            key={boxes}
            value={texts.search}
            placeholder={t('records.searchFor')}
            onType={setTyped}
            onSearch={(text) => {
              if (!hasTokenLabel(text.trim())) set('search', text);
            }}
          />
        </div>
        <div class="actions">{children}</div>
      </div>
      {hasTokenLabel(typed.trim()) ? (
        <p role="status" class="dim">
          {t('records.searchToken')}
        </p>
      ) : null}
      {facets === undefined || facets.records === 0 ? null : (
        <div class="facets">
          <Facets field="resource" chips={offered('resource')} chosen={texts.resource} onChange={choose} />
          {isOneNamespace || owned.length < 2 ? null : (
            <Facets
              field="namespace"
              chips={offered('namespace')}
              chosen={texts.namespace}
              onChange={choose}
            />
          )}
          {facets.estimated ? <span class="dim">{t('records.estimated')}</span> : null}
        </div>
      )}
    </div>
  );
}

/** Filters that are seldom used. */
export function MoreFilters({
  texts,
  namespaces,
  isOneNamespace,
}: Omit<FilterBarProps, 'facets' | 'children'>) {
  const set = (field: keyof FilterTexts, text: string): void => setQuery({ [FILTER_NAMES[field]]: text });
  const more = (['ttlMin', 'ttlMax', 'after', 'before'] as const).filter((field) => texts[field] !== '');
  return (
    <details open={more.length > 0}>
      <summary>{t('records.moreFilters')}</summary>
      <div class="bar">
        {isOneNamespace ? null : (
          <Select
            label={t('records.namespace')}
            value={texts.namespace}
            options={[
              { value: '', text: t('records.allNamespaces') },
              ...[...new Set([...namespaces.map(({ name }) => name), texts.namespace])]
                .filter((name) => name !== '')
                .map((name) => ({ value: name, text: name })),
            ]}
            onChange={(name) => set('namespace', name)}
          />
        )}
        <FilterField texts={texts} field="resource" label={t('records.resource')} onChange={set} />
        <FilterField texts={texts} field="ttlMin" label={t('records.ttlMin')} onChange={set} />
        <FilterField texts={texts} field="ttlMax" label={t('records.ttlMax')} onChange={set} />
        <FilterField texts={texts} field="after" label={t('records.after')} isTime onChange={set} />
        <FilterField texts={texts} field="before" label={t('records.beforeTime')} isTime onChange={set} />
      </div>
    </details>
  );
}

interface FacetsProps {
  readonly field: FacetName;
  readonly chips: Parameters<typeof Chips>[0]['chips'];
  readonly chosen: string;
  readonly onChange: (field: FacetName, name: string | null) => void;
}

function Facets({ field, chips, chosen, onChange }: FacetsProps) {
  return (
    <div class="facet">
      <span class="dim" aria-hidden="true">
        {t(`records.${field}s`)}
      </span>
      <Chips
        label={t(`records.${field}s`)}
        chips={chips}
        chosen={chosen === '' ? null : foldCase(chosen)}
        onChange={(name) => onChange(field, name)}
      />
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
  const { typed, type } = useTyped(texts[field], PAUSE_MS, (text) => onChange(field, text));
  return (
    <TextField
      label={label}
      type={isTime ? 'datetime-local' : 'text'}
      value={typed}
      onInput={type}
      error={isGoodFilter(field, typed) ? null : t('records.faultFilter')}
    />
  );
}

/** How many records there are in the list, as far as it is known. @param all without filters */
export function countText(
  pages: { readonly rows: readonly unknown[]; readonly isWhole: boolean; readonly isReadingMore: boolean },
  facets: RecordFacets | undefined,
  texts: FilterTexts,
  all: number | undefined,
): string {
  const loaded = count(pages.rows.length);
  if (pages.isReadingMore) return t('records.readingMore', { loaded });
  const known = pages.isWhole ? pages.rows.length : matchCount(facets, texts);
  if (known === null) return t('records.countSome', { loaded });
  if (all !== undefined && all > known)
    return t('records.countOf', { known: count(known), total: count(all) });
  return pages.isWhole
    ? t('records.countWhole', { known: count(known) })
    : t('records.countAbout', { known: count(known) });
}

/** How many records the filters keep where counts tell it; null: not known. */
export function matchCount(facets: RecordFacets | undefined, texts: FilterTexts): number | null {
  const { namespace, resource, ...others } = texts;
  if (facets === undefined || Object.values(others).some((text) => text !== '')) return null;
  if (resource === '' && namespace === '') return facets.records;
  if (facets.estimated && resource !== '') return null;
  if (resource === '')
    return facets.namespaces.find(({ name }) => name === foldCase(namespace))?.records ?? null;
  return facets.resources.find(({ name }) => name === foldCase(resource))?.records ?? null;
}
