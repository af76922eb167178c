import { type ResourceRecord, typeName } from '../../../../sdk/src/dns.ts';
import { t } from '../../text/text.ts';
import { maskText } from './masked-name.ts';

/** The records of an answer as a master file prints them. */
export function Records({ records }: { records: readonly ResourceRecord[] }) {
  if (records.length === 0) return null;
  return (
    <details>
      <summary>{t('playground.records', { count: records.length })}</summary>
      <ul class="plain-list">
        {records.map((record) => (
          <li key={record.from} class="code wrap">
            <span class={`oct-${record.section}`}>{record.section}</span> {maskText(record.owner.text)}.{' '}
            {record.ttl} IN <strong>{typeName(record.type)}</strong> {maskText(record.text)}
          </li>
        ))}
      </ul>
    </details>
  );
}
