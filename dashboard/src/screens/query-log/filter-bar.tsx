import type { QueryLogRow, QueryStatus } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { time } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Chips } from '../../ui/chips.tsx';
import { Select, Switch } from '../../ui/field.tsx';
import { type Filters, TRANSPORTS } from './filters.ts';
import { STATUSES } from './time-buckets.ts';

export interface FilterBarProps {
  readonly filters: Filters;
  /** Names of nodes are those of the rows. */
  readonly rows: readonly QueryLogRow[];
  readonly onChange: (changes: Partial<Filters>) => void;
  readonly isLive: boolean;
  readonly onLive: (isLive: boolean) => void;
}

/** Seconds. */
const WINDOWS = { '300': 300, '900': 900, '3600': 3_600 } as const;

export function FilterBar({ filters, rows, onChange, isLive, onLive }: FilterBarProps) {
  const namespaces = useResource('namespaces', (signal) => api.namespaces.list({ signal }));
  const names = (namespaces.value ?? []).map(({ name }) => name);
  const nodes = [...new Set(rows.map(({ node }) => node))].sort();
  return (
    <>
      <div class="bar">
        <Switch label={t('queryLog.live')} isChecked={isLive} onChange={onLive} />
        <Chips
          label={t('queryLog.status')}
          chips={STATUSES.map((status) => ({ value: status, text: status }))}
          chosen={filters.status}
          onChange={(status) => onChange({ status: status as QueryStatus | null })}
        />
      </div>
      <div class="bar">
        <Choice
          label={t('queryLog.namespace')}
          value={filters.namespace}
          values={names}
          onChange={(namespace) => onChange({ namespace })}
        />
        <Choice
          label={t('queryLog.node')}
          value={filters.node}
          values={nodes}
          onChange={(node) => onChange({ node })}
        />
        <Choice
          label={t('queryLog.transport')}
          value={filters.transport}
          values={TRANSPORTS}
          onChange={(transport) => onChange({ transport: transport as Filters['transport'] })}
        />
        <WindowChoice filters={filters} onChange={onChange} />
      </div>
    </>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string | null;
  readonly values: readonly string[];
  readonly onChange: (value: string | null) => void;
}

function Choice({ label, value, values, onChange }: ChoiceProps) {
  // The address may name one that is gone, or that no row has yet.
  const all = value === null || values.includes(value) ? values : [value, ...values];
  const options = [{ value: '', text: t('queryLog.all') }, ...all.map((one) => ({ value: one, text: one }))];
  return (
    <Select
      label={label}
      value={value ?? ''}
      options={options}
      onChange={(chosen) => onChange(chosen === '' ? null : chosen)}
    />
  );
}

function WindowChoice({ filters, onChange }: Pick<FilterBarProps, 'filters' | 'onChange'>) {
  const { since, until } = filters;
  const isChosen = since !== null || until !== null;
  const chosen = t('queryLog.windowFrom', {
    since: since === null ? '…' : time(since),
    until: until === null ? '…' : time(until),
  });
  const options = [
    { value: '', text: t('queryLog.windowDay') },
    { value: '3600', text: t('queryLog.windowHour') },
    { value: '900', text: t('queryLog.windowQuarter') },
    { value: '300', text: t('queryLog.windowMinutes') },
    ...(isChosen ? [{ value: 'chosen', text: chosen }] : []),
  ];
  return (
    <Select
      label={t('queryLog.window')}
      value={isChosen ? 'chosen' : ''}
      options={options}
      onChange={(value) => {
        if (value === 'chosen') return;
        const seconds = WINDOWS[value as keyof typeof WINDOWS] as number | undefined;
        const from = seconds === undefined ? null : new Date(Date.now() - seconds * 1000).toISOString();
        onChange({ since: from, until: null });
      }}
    />
  );
}
