import { useMeta } from '../../app/meta.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { tierRows } from './usage-parts.ts';

/** The own tier against the others. */
export function TierTable({ own }: { readonly own: string }) {
  const meta = useMeta();
  if (meta.value === undefined) return null;
  return (
    <div class="stack">
      <h2>{t('usage.tiers')}</h2>
      <div class="wide-table" role="region" aria-label={t('usage.tiers')} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t('usage.tier')}</th>
              <th scope="col">{t('usage.records')}</th>
              <th scope="col">{t('usage.webhooks')}</th>
              <th scope="col">{t('usage.reads')}</th>
            </tr>
          </thead>
          <tbody>
            {tierRows(meta.value.tiers, own).map((tier) => (
              <tr key={tier.name}>
                <th scope="row">
                  {tier.name} {tier.isOwn ? <Badge text={t('usage.own')} tone="good" /> : null}
                </th>
                <td>{count(tier.records)}</td>
                <td>{count(tier.webhooks)}</td>
                <td>{count(tier.allowance)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="dim">{t('usage.tierText')}</p>
    </div>
  );
}
