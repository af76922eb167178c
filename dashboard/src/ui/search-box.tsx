import { useLayoutEffect, useRef } from 'preact/hooks';
import { type Shortcut, useShortcuts } from '../app/shortcuts.ts';
import { t } from '../text/text.ts';
import { useTyped } from './use-typed.ts';

export interface SearchBoxProps {
  readonly value: string;
  /** Called 200 ms after the last letter, and at once for Enter. */
  readonly onSearch: (value: string) => void;
  /** Accessible name and placeholder. Default `Search`. */
  readonly label?: string;
  /** Default: the name. */
  readonly placeholder?: string;
  /** Called with what stands in the box, whenever it changes. */
  readonly onType?: (typed: string) => void;
}

const PAUSE_MS = 200;

/** A search box. `/` moves the focus into it, and the arrow down out of it: to the current row of the table, or its first. */
export function SearchBox({ value, onSearch, label = t('ui.search'), ...props }: SearchBoxProps) {
  const { typed, type, send } = useTyped(value, PAUSE_MS, onSearch);
  const input = useRef<HTMLInputElement>(null);
  const shortcuts = useRef<Shortcut[]>([
    { keys: '/', text: 'shortcuts.search', run: () => input.current?.focus() },
  ]);
  useShortcuts(shortcuts.current);
  useLayoutEffect(() => props.onType?.(typed), [typed]);
  return (
    <input
      ref={input}
      type="search"
      class="search-box"
      aria-label={label}
      placeholder={props.placeholder ?? label}
      autoComplete="off"
      spellcheck={false}
      value={typed}
      onInput={(event) => type(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') send();
        if (event.key !== 'ArrowDown') return;
        event.preventDefault();
        const rows = (which: string) => document.querySelector<HTMLElement>(`main .table-row[${which}]`);
        (rows('tabindex="0"') ?? rows('aria-rowindex="2"'))?.focus();
      }}
    />
  );
}
