import type { Usage } from '../../../../sdk/src/uqrp-sdk.ts';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';

/** Used from here on, a bulk write is advised. */
const NEAR = 0.8;

/** What to do before the writes of the present minute and hour run out. */
export function BulkAdvice({ writes }: Pick<Usage, 'writes'>) {
  if (writes === null) return <p class="dim">{t('usage.writesUnlimited')}</p>;
  if (!Object.values(writes).some(({ used, limit }) => used >= limit * NEAR)) return null;
  return (
    <div class="note warn">
      <p>{t('usage.useBulk')}</p>
      <CodeBlock code={bulkCommand()} label="curl" />
    </div>
  );
}

function bulkCommand(): string {
  return `${keyedCurl()} -s ${location.origin}/api/v1/records/bulk \\
  -H 'Content-Type: application/json' \\
  -d '{"records": [{"key": "a.status.acme.v1", "data": "b2s="}, {"key": "b.status.acme.v1", "data": "b2s="}]}'`;
}
