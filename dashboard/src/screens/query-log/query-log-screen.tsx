import { useMemo, useRef, useState } from 'preact/hooks';
import type { QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { place, setQuery } from '../../app/router.ts';
import { readSetting, writeSetting } from '../../app/settings.ts';
import { usePoll } from '../../data/use-poll.ts';
import { count } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { FilterBar } from './filter-bar.tsx';
import { countFilters, filtersHere, fits, NO_FILTERS, readFilters } from './filters.ts';
import { LogChart, useLogCounts } from './log-chart.tsx';
import { LogTools } from './log-tools.tsx';
import { NothingAsked } from './nothing-asked.tsx';
import { COLUMNS } from './row-columns.tsx';
import { RowDetails } from './row-details.tsx';
import { TailStatus } from './tail-status.tsx';
import { type Log, useLog } from './use-log.ts';

/** Pixels: scrolled further than this, the reader looks at older rows. */
const AT_TOP = 20;
const EMPTY_POLL_MS = 2_000;

export function QueryLogScreen() {
  const { query } = place.value;
  const filters = useMemo(() => readFilters(query), [query]);
  // As it was the last time in this browser, unless the address says so.
  const isLive = (query.get('live') ?? readSetting('live')) === 'on';
  const log = useLog(filters, isLive);
  const counts = useLogCounts(filters, isLive);
  const shown = useMemo(
    () => log.rows.filter((row) => fits(row, filters)).sort(latestFirst),
    [log.rows, filters],
  );
  const [opened, setOpened] = useState<QueryLogRow | null>(null);
  const isReady = log.next !== undefined;
  const isUnused = isReady && log.rows.length === 0 && countFilters(filters) === 0;
  usePoll(isUnused && !isLive ? EMPTY_POLL_MS : null, log.poll);
  return (
    <Page title={t('queryLog.title')} actions={<LogTools rows={shown} filters={filters} />}>
      <p class="dim">{t('queryLog.never')}</p>
      <FilterBar
        filters={filters}
        rows={log.rows}
        onChange={(changes) => setQuery(changes)}
        isLive={isLive}
        onLive={(on) => {
          writeSetting('live', on ? 'on' : null);
          setQuery({ live: on ? 'on' : null });
        }}
      />
      <TailStatus
        log={log}
        onRefresh={() => {
          log.reload();
          counts.again();
        }}
      />
      {log.error === undefined ? null : <ErrorNote error={log.error} again={log.again} />}
      {!isReady && log.isLoading ? <Loading /> : null}
      {isUnused ? null : <LogChart counts={counts} filters={filters} onWindow={setQuery} />}
      {isReady ? <LogTable log={log} rows={shown} onOpen={setOpened} /> : null}
      {opened === null ? null : (
        <RowDetails row={opened} onClose={() => setOpened(null)} onFilter={(changes) => setQuery(changes)} />
      )}
      {isUnused ? <NothingAsked /> : null}
      {isReady && !isUnused && shown.length === 0 && log.readOlder === undefined ? (
        <div class="bar">
          <p>{tn('queryLog.noMatch', countFilters(filters))}</p>
          <Button onClick={() => setQuery({ ...NO_FILTERS })}>{t('queryLog.clear')}</Button>
        </div>
      ) : null}
      {isReady && !isUnused ? (
        <RowCount log={log} shown={shown.length} isPartly={filtersHere(filters)} />
      ) : null}
    </Page>
  );
}

/** Rows of several nodes arrive late, by up to seconds: their order is that of their times. */
function latestFirst(a: QueryLogRow, b: QueryLogRow): number {
  return a.timestamp < b.timestamp ? 1 : a.timestamp > b.timestamp ? -1 : Number(b.id) - Number(a.id);
}

interface LogTableProps {
  readonly log: Log;
  readonly rows: readonly QueryLogRow[];
  readonly onOpen: (row: QueryLogRow) => void;
}

function LogTable({ log, rows, onOpen }: LogTableProps) {
  const frame = useRef<HTMLDivElement>(null);
  const table = (): HTMLElement | null => frame.current?.querySelector('[role="table"]') ?? null;
  const look = (): void => {
    const element = table();
    if (element === null) return;
    const hasRowFocus = element.contains(document.activeElement) && document.activeElement !== element;
    log.pause(element.scrollTop > AT_TOP || hasRowFocus);
  };
  const goOn = (): void => {
    const element = table();
    if (element !== null) {
      element.scrollTop = 0;
      element.focus();
    }
    log.pause(false);
  };
  return (
    <div
      ref={frame}
      class="log-table"
      onScrollCapture={look}
      onFocusIn={look}
      // The focus is on its next element only after the event.
      onFocusOut={() => setTimeout(look)}
    >
      {log.isPaused && log.heldCount > 0 ? (
        <Button tone="primary" onClick={goOn}>
          {tn('queryLog.paused', log.heldCount)}
        </Button>
      ) : null}
      <DataTable<QueryLogRow>
        label={t('queryLog.table')}
        columns={COLUMNS satisfies readonly Column<QueryLogRow>[]}
        rows={rows}
        rowKey={(row) => row.id}
        total={-1}
        onEnd={log.readOlder}
        onOpen={onOpen}
      />
    </div>
  );
}

function RowCount(props: { readonly log: Log; readonly shown: number; readonly isPartly: boolean }) {
  const { log, shown, isPartly } = props;
  const loaded = log.rows.length;
  const counts = { shown: count(shown), loaded: count(loaded), total: count(Math.max(loaded, log.total)) };
  return (
    <p class="dim">
      {t(isPartly ? 'queryLog.countPartly' : 'queryLog.count', counts)}{' '}
      {log.dropped > 0 ? tn('queryLog.dropped', log.dropped) : ''}
    </p>
  );
}
