import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Shortcut, useShortcuts } from '../app/shortcuts.ts';
import { t } from '../text/text.ts';
import { type RowWindow, rowWindow } from './window-rows.ts';

export interface Column<Row> {
  readonly id: string;
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** One column names its row. */
  readonly isRowHeader?: true;
  /** Track of a CSS grid, such as `8rem` or `minmax(12rem, 2fr)`. Default `minmax(6rem, 1fr)`. */
  readonly width?: string;
  /** Numbers stand at the end. */
  readonly align?: 'end';
  /** Its head sorts. */
  readonly isSortable?: true;
  /** A double click on its cells edits them; one click opens the row a moment later. */
  readonly isEditable?: true;
}

export interface SortedBy {
  /** Of the column. */
  readonly id: string;
  readonly isDescending: boolean;
}

export interface DataTableProps<Row> {
  /** Accessible name. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** How the row is called, for its checkbox. Default: its key. */
  readonly rowName?: (row: Row) => string;
  /** Rows there are in all, for `aria-rowcount`. Default: those given; -1: not known. */
  readonly total?: number;
  /** Called when the end of the loaded rows comes into view. Undefined: there are no more. */
  readonly onEnd?: (() => void) | undefined;
  /** Keys of selected rows; with `onSelect` each row has a checkbox. */
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (selected: ReadonlySet<string>) => void;
  /** The order of the rows, and a click on the head of a column. */
  readonly sorted?: SortedBy;
  readonly onSort?: (id: string) => void;
  /** A double click on a cell of an editable column. */
  readonly onEdit?: (row: Row) => void;
  /** On a narrow screen each row is a card of two lines, which the style sheet lays out by the columns' ids. */
  readonly hasCards?: true;
  /** A click on a row, or Enter. */
  readonly onOpen?: (row: Row) => void;
  /** The row under the keyboard changed. */
  readonly onCurrent?: (row: Row | null) => void;
  /** Buttons at the end of a row. */
  readonly actions?: (row: Row) => ComponentChildren;
  /** Width of the column of `actions`. Default `10rem`. */
  readonly actionsWidth?: string;
  /** Most visible rows before it scrolls. Default 15, and more in a tall window. */
  readonly visibleRows?: number;
}

/** Rems, until the style sheet is asked for `--row`. */
const ROW_REMS = 2.5;
/** Milliseconds in which a second click makes it a double one. */
const DOUBLE_MS = 250;
/** Rows before the end at which the next page is asked for. */
const AHEAD = 30;
/** Elements in a row that take clicks for themselves. */
const INTERACTIVE = 'a, button, input, select, label, summary';

/**
 * A table of which only the visible rows are in the document. Arrow keys, `j` and `k`, Home, End and Page keys move, Enter opens, `x`
 * selects. Rows have one height: long text is cut with an ellipsis.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { columns, rows, rowKey, onEnd, onOpen, onSelect, selected, visibleRows } = props;
  const body = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState<RowWindow>({
    from: 0,
    until: Math.min(rows.length, (visibleRows ?? 15) + 9),
  });
  /** Key of the row under the keyboard, and of the one that was selected last: rows of others may come before them. */
  const [currentKey, setCurrentKey] = useState<string | null>(null);
  const anchorKey = useRef<string | null>(null);
  const placeOf = (key: string | null): number =>
    key === null ? -1 : rows.findIndex((row) => rowKey(row) === key);
  const current = useMemo(() => placeOf(currentKey), [rows, currentKey]);
  /** Where the row under the keyboard is, or was before it left the table. */
  const lastPlace = useRef(-1);
  if (current >= 0) lastPlace.current = current;
  const [rowHeight, setRowHeight] = useState(ROW_REMS * rem());
  const opening = useRef<ReturnType<typeof setTimeout> | null>(null);
  /** Key of the row that the keyboard goes to. */
  const wanted = useRef<string | null>(null);
  // Before the next frame: the next key belongs to this row. By its key: rows of others may come before it.
  const takeFocus = (): void => {
    const at = placeOf(wanted.current);
    if (at >= 0) body.current?.querySelector<HTMLElement>(`[aria-rowindex="${at + 2}"]`)?.focus();
  };
  useLayoutEffect(() => {
    takeFocus();
    wanted.current = null;
  });
  const measure = (): void => {
    const element = body.current;
    if (element === null) return;
    const rowHeight = heightOfRow(element);
    setRowHeight(rowHeight);
    const { scrollTop: top, clientHeight: height } = element;
    const next = rowWindow({ top, height, rowHeight, rows: rows.length });
    setShown((before) => (before.from === next.from && before.until === next.until ? before : next));
    if (next.until > rows.length - AHEAD) onEnd?.();
  };
  useEffect(measure, [rows, onEnd]);
  const measureNow = useRef(measure);
  measureNow.current = measure;
  useEffect(() => {
    const element = body.current;
    if (element === null) return;
    // A taller window shows more rows.
    const observer = new ResizeObserver(() => measureNow.current());
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const makeCurrent = (at: number): void => {
    const row = rows[at];
    setCurrentKey(row === undefined ? null : rowKey(row));
    props.onCurrent?.(row ?? null);
  };
  const goTo = (to: number): void => {
    const at = Math.max(0, Math.min(rows.length - 1, to));
    const element = body.current;
    if (element === null || rows.length === 0) return;
    makeCurrent(at);
    wanted.current = rowKey(rows[at]!);
    const top = at * rowHeight;
    const height = element.clientHeight - rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + height) element.scrollTop = top + rowHeight - height;
    measure();
    takeFocus();
  };
  const toggle = (at: number, isRange = false): void => {
    const row = rows[at];
    if (row === undefined || onSelect === undefined) return;
    const next = new Set(selected);
    const from = placeOf(anchorKey.current);
    anchorKey.current = rowKey(row);
    if (isRange && from >= 0) {
      for (const one of rows.slice(Math.min(from, at), Math.max(from, at) + 1)) next.add(rowKey(one));
    } else if (!next.delete(rowKey(row))) next.add(rowKey(row));
    onSelect(next);
  };
  const open = (row: Row | undefined): void => {
    if (row !== undefined) onOpen?.(row);
  };
  // The row after one that is gone stands at its place.
  const below = current >= 0 ? current + 1 : Math.max(0, lastPlace.current);
  const above = lastPlace.current - 1;
  const acts = {
    next: () => goTo(below),
    previous: () => goTo(above),
    select: () => toggle(current),
    selectRange: () => toggle(current, true),
  };
  useRowShortcuts(acts);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target instanceof Element && event.target.matches(INTERACTIVE) && event.key !== 'Escape')
      return;
    const page = Math.max(1, Math.floor((body.current?.clientHeight ?? 0) / rowHeight) - 2);
    const to = {
      ArrowDown: below,
      ArrowUp: above,
      PageDown: below - 1 + page,
      PageUp: above + 1 - page,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (to !== undefined) goTo(to);
    else if (event.key === 'Enter') open(rows[current]);
    else if (event.key === ' ' && onSelect !== undefined) toggle(current, event.shiftKey);
    else return;
    event.preventDefault();
  };
  const widths = [
    onSelect === undefined ? '' : '2.5rem',
    ...columns.map(({ width = 'minmax(6rem, 1fr)' }) => width),
    props.actions === undefined ? '' : (props.actionsWidth ?? '10rem'),
  ].filter(Boolean);
  const tracks = widths.join(' ');
  // Every row is a grid of its own: all must be equally wide, else their columns do not stand below each other.
  const least = `calc(${widths.map((width) => /^minmax\(([^,]+)/.exec(width)?.[1] ?? width).join(' + ')})`;
  const areAllSelected = rows.length > 0 && rows.every((row) => selected?.has(rowKey(row)));
  const isPart = areAllSelected && onEnd !== undefined;
  return (
    <div
      ref={body}
      role="table"
      class={`data-table ${visibleRows === undefined ? 'tall' : ''} ${props.hasCards === true ? 'has-cards' : ''}`}
      aria-label={props.label}
      aria-rowcount={props.total === -1 ? -1 : (props.total ?? rows.length) + 1}
      tabIndex={0}
      style={{ '--tracks': tracks, '--least': least, '--visible': String(visibleRows ?? 15) }}
      onScroll={measure}
      onKeyDown={onKeyDown}
    >
      <div role="rowgroup" class="table-head">
        <div role="row" class="table-row" aria-rowindex={1}>
          {onSelect === undefined ? null : (
            <div role="columnheader" class="cell">
              <input
                type="checkbox"
                aria-label={t('ui.selectAll')}
                checked={areAllSelected && !isPart}
                indeterminate={isPart}
                onChange={() => onSelect(new Set(areAllSelected ? [] : rows.map(rowKey)))}
              />
            </div>
          )}
          {columns.map((column) => (
            <div
              key={column.id}
              role="columnheader"
              class={`cell ${column.align ?? ''} of-${column.id}`}
              aria-sort={sortOf(column, props.sorted)}
            >
              {column.isSortable === true ? (
                <button type="button" class="sort" onClick={() => props.onSort?.(column.id)}>
                  {column.head}
                  <span aria-hidden="true">{ARROWS[sortOf(column, props.sorted) ?? 'none']}</span>
                </button>
              ) : (
                column.head
              )}
            </div>
          ))}
          {props.actions === undefined ? null : (
            <div role="columnheader" class="cell">
              <span class="hidden">{t('ui.actions')}</span>
            </div>
          )}
        </div>
      </div>
      <div
        role="rowgroup"
        style={{
          paddingTop: `${shown.from * rowHeight}px`,
          paddingBottom: `${Math.max(0, rows.length - shown.until) * rowHeight}px`,
        }}
      >
        {rows.slice(shown.from, shown.until).map((row, offset) => {
          const at = shown.from + offset;
          return (
            <div
              key={rowKey(row)}
              role="row"
              aria-rowindex={at + 2}
              tabIndex={at === current ? 0 : -1}
              class={`table-row ${at === current ? 'current' : ''} ${selected?.has(rowKey(row)) ? 'selected' : ''}`}
              onFocus={() => {
                if (at !== current) makeCurrent(at);
              }}
              onMouseDown={() => {
                // The second press makes it a double click, also one that is held a while.
                if (opening.current !== null) clearTimeout(opening.current);
              }}
              onClick={(event) => {
                const target = event.target as Element;
                if (target.closest(INTERACTIVE) !== null) return;
                if (opening.current !== null) clearTimeout(opening.current);
                if (props.onEdit === undefined || target.closest('[data-editable]') === null) onOpen?.(row);
                else if (event.detail > 1) props.onEdit(row);
                else opening.current = setTimeout(() => onOpen?.(row), DOUBLE_MS);
              }}
            >
              {onSelect === undefined ? null : (
                <div role="cell" class="cell">
                  <input
                    type="checkbox"
                    aria-label={t('ui.selectRow', { row: (props.rowName ?? rowKey)(row) })}
                    checked={selected?.has(rowKey(row)) ?? false}
                    onClick={(event) => toggle(at, event.shiftKey)}
                  />
                </div>
              )}
              {columns.map((column) => (
                <div
                  key={column.id}
                  role={column.isRowHeader ? 'rowheader' : 'cell'}
                  class={`cell ${column.align ?? ''} of-${column.id}`}
                  data-editable={column.isEditable}
                >
                  {column.cell(row)}
                </div>
              ))}
              {props.actions === undefined ? null : (
                <div role="cell" class="cell row-actions">
                  {props.actions(row)}
                </div>
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const ARROWS = { ascending: ' ↑', descending: ' ↓', none: '' } as const;

function sortOf<Row>(
  { id, isSortable }: Column<Row>,
  sorted: SortedBy | undefined,
): keyof typeof ARROWS | undefined {
  if (isSortable !== true) return undefined;
  if (sorted?.id !== id) return 'none';
  return sorted.isDescending ? 'descending' : 'ascending';
}

/** Pixels: a narrow screen may have higher rows. */
function heightOfRow(table: HTMLElement): number {
  const rems = Number.parseFloat(getComputedStyle(table).getPropertyValue('--row'));
  return (Number.isNaN(rems) ? ROW_REMS : rems) * rem();
}

/** Pixels. */
function rem(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
}

interface RowActs {
  readonly next: () => void;
  readonly previous: () => void;
  readonly select: () => void;
  readonly selectRange: () => void;
}

/** `j`, `k` and `x` also work while the focus is outside of the table. */
function useRowShortcuts(acts: RowActs): void {
  const latest = useRef(acts);
  latest.current = acts;
  const shortcuts = useRef<Shortcut[]>([
    { keys: 'j', text: 'shortcuts.next', run: () => latest.current.next() },
    { keys: 'k', text: 'shortcuts.previous', run: () => latest.current.previous() },
    { keys: 'x', text: 'shortcuts.select', run: () => latest.current.select() },
    { keys: 'X', text: 'shortcuts.selectRange', run: () => latest.current.selectRange() },
  ]);
  useShortcuts(shortcuts.current);
}
