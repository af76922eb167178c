import { dateTime } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Select } from '../../ui/field.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { useNamespaces } from '../namespaces/use-namespaces.ts';
import { ACTION_CHOICES, type AuditTexts, isPartOfKey } from './audit-filters.ts';

export interface AuditFilterBarProps {
  readonly texts: AuditTexts;
  readonly onChange: (changes: Partial<AuditTexts>) => void;
}

/** Hours. */
const WINDOWS = { '1': 'audit.lastHour', '24': 'audit.lastDay', '168': 'audit.lastWeek' } as const;

export function AuditFilterBar({ texts, onChange }: AuditFilterBarProps) {
  const namespaces = useNamespaces();
  const names = (namespaces.value ?? []).map(({ name }) => name);
  const all = { value: '', text: t('queryLog.all') };
  const options = (values: readonly string[], chosen: string) => [
    all,
    ...(chosen === '' || values.includes(chosen) ? values : [chosen, ...values]).map((value) => ({
      value,
      text: value,
    })),
  ];
  const since =
    texts.since === '' && texts.until === ''
      ? ''
      : t('queryLog.windowFrom', {
          since: texts.since === '' ? '…' : dateTime(texts.since),
          until: texts.until === '' ? '…' : dateTime(texts.until),
        });
  return (
    <>
      <div class="bar">
        <SearchBox
          label={t('audit.actorFilter')}
          value={texts.actor}
          onSearch={(actor) => onChange({ actor })}
        />
        <SearchBox label={t('audit.key')} value={texts.key} onSearch={(key) => onChange({ key })} />
      </div>
      {isPartOfKey(texts.key) ? <p class="dim">{t('records.keyHelp')}</p> : null}
      <div class="bar">
        <Select
          label={t('audit.action')}
          value={texts.action}
          options={options(ACTION_CHOICES, texts.action)}
          onChange={(action) => onChange({ action })}
        />
        <Select
          label={t('records.namespace')}
          value={texts.namespace}
          options={options(names, texts.namespace)}
          onChange={(namespace) => onChange({ namespace })}
        />
        <Select
          label={t('audit.when')}
          value={since === '' ? '' : 'chosen'}
          options={[
            all,
            ...Object.entries(WINDOWS).map(([value, text]) => ({ value, text: t(text) })),
            ...(since === '' ? [] : [{ value: 'chosen', text: since }]),
          ]}
          onChange={(hours) => {
            if (hours === 'chosen') return;
            const from = hours === '' ? '' : new Date(Date.now() - Number(hours) * 3_600_000).toISOString();
            onChange({ since: from, until: '' });
          }}
        />
      </div>
    </>
  );
}
