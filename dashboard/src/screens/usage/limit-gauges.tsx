import type { Usage } from '../../../../sdk/src/uqrp-sdk.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Gauge } from '../../ui/gauge.tsx';
import { WriteBudget } from './write-budget.tsx';

/** Records, webhooks, private reads and writes, each with its limit. */
export function LimitGauges({ usage }: { readonly usage: Usage }) {
  const { records, webhooks, metered, writes } = usage;
  const gauge = (label: string, value: number, max: number, note?: string) => (
    <Gauge
      label={label}
      value={value}
      max={max}
      text={t('usage.of', { used: count(value), limit: count(max) })}
      {...(note === undefined ? {} : { note })}
    />
  );
  return (
    <>
      {gauge(t('nav.records'), records.used, records.limit)}
      {gauge(t('nav.webhooks'), webhooks.used, webhooks.limit)}
      {gauge(
        t('usage.reads'),
        metered.total_authenticated_queries,
        metered.tier_allowance,
        t('usage.estimated'),
      )}
      <WriteBudget writes={writes} />
    </>
  );
}
