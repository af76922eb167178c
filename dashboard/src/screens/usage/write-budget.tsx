import type { Usage } from '../../../../sdk/src/uqrp-sdk.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Gauge } from '../../ui/gauge.tsx';
import { resetParts } from './usage-parts.ts';

/** Used from here on, a bulk write is advised. */
const NEAR = 0.8;

/** Writes of the present minute and hour, and what to do before they run out. */
export function WriteBudget({ writes }: Pick<Usage, 'writes'>) {
  if (writes === null) return <p class="dim">{t('usage.writesUnlimited')}</p>;
  const isNear = Object.values(writes).some(({ used, limit }) => used >= limit * NEAR);
  return (
    <>
      {(['minute', 'hour'] as const).map((period) => {
        const { used, limit, resets_in: seconds } = writes[period];
        const { value, unit } = resetParts(seconds);
        return (
          <Gauge
            key={period}
            label={t(period === 'minute' ? 'usage.writesMinute' : 'usage.writesHour')}
            value={used}
            max={limit}
            text={t('usage.of', { used: count(used), limit: count(limit) })}
            note={
              seconds === 0
                ? t('usage.whole')
                : t(unit === 'seconds' ? 'usage.resetsSeconds' : 'usage.resetsMinutes', { value })
            }
          />
        );
      })}
      {isNear ? (
        <div class="note warn">
          <p>{t('usage.useBulk')}</p>
          <CodeBlock code={bulkCommand()} label="curl" />
        </div>
      ) : null}
    </>
  );
}

function bulkCommand(): string {
  return `curl -s ${location.origin}/api/v1/records/bulk -H "Authorization: Bearer $UQRP_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"records": [{"key": "a.status.acme.v1", "data": "b2s="}, {"key": "b.status.acme.v1", "data": "b2s="}]}'`;
}
