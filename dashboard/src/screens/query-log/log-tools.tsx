import type { QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { type Filters, listFilter, streamFilter, writeFilters } from './filters.ts';
import { toCsv, toJsonLines } from './row-export.ts';

/** Export of what is shown, and the requests of this page as commands. */
export function LogTools({
  rows,
  filters,
}: {
  readonly rows: readonly QueryLogRow[];
  readonly filters: Filters;
}) {
  const isEmpty = rows.length === 0;
  return (
    <>
      <Button isDisabled={isEmpty} onClick={() => saveFile('query-log.csv', 'text/csv', toCsv(rows))}>
        {t('queryLog.csv')}
      </Button>
      <Button
        isDisabled={isEmpty}
        onClick={() => saveFile('query-log.jsonl', 'application/x-ndjson', toJsonLines(rows))}
      >
        {t('queryLog.jsonLines')}
      </Button>
      <CopyAs variants={commandsOf(filters)} />
    </>
  );
}

function commandsOf(filters: Filters): readonly { name: string; code: string }[] {
  const api = `${location.origin}/api/v1/query_logs`;
  const list = JSON.stringify(listFilter(filters));
  const follow = JSON.stringify(streamFilter(filters));
  const queryOf = (part: object): string => writeFilters(part as Filters);
  return [
    { name: t('queryLog.curlList'), code: `${keyedCurl()} -s "${api}${queryOf(listFilter(filters))}"` },
    {
      name: t('queryLog.curlStream'),
      code: `${keyedCurl()} -sN "${api}/stream${queryOf(streamFilter(filters))}"`,
    },
    {
      name: 'node',
      code: `import { Uqrp } from 'uqrp-sdk';

const uqrp = new Uqrp({ baseUrl: '${location.origin}', token: process.env.UQRP_TOKEN });
console.log(await uqrp.queryLogs.list(${list}).toArray(100));
for await (const event of uqrp.queryLogs.stream(${follow})) console.log(event);`,
    },
  ];
}
