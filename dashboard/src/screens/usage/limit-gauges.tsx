import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Gauge } from '../../ui/gauge.tsx';
import { type LimitUse, resetParts } from './usage-parts.ts';

/** How much of each limit is used. */
export function LimitGauges({ limits }: { readonly limits: readonly LimitUse[] }) {
  return (
    <>
      {limits.map((one) => {
        const note = noteOf(one);
        return (
          <Gauge
            key={one.name}
            label={t(`usage.${one.name}`)}
            value={one.used}
            max={one.limit}
            text={t('usage.of', { used: count(one.used), limit: count(one.limit) })}
            {...(note === null ? {} : { note })}
          />
        );
      })}
    </>
  );
}

function noteOf({ name, resetsIn }: LimitUse): string | null {
  if (name === 'reads') return t('usage.estimated');
  if (resetsIn === undefined) return null;
  if (resetsIn === 0) return t('usage.whole');
  const { value, unit } = resetParts(resetsIn);
  return t(unit === 'seconds' ? 'usage.resetsSeconds' : 'usage.resetsMinutes', { value });
}
