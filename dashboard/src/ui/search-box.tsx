import { useEffect, useRef, useState } from 'preact/hooks';
import { type Shortcut, useShortcuts } from '../app/shortcuts.ts';
import { t } from '../text/text.ts';

export interface SearchBoxProps {
  readonly value: string;
  /** Called 200 ms after the last letter, and at once for Enter. */
  readonly onSearch: (value: string) => void;
  /** Accessible name and placeholder. Default `Search`. */
  readonly label?: string;
  /** Default: the name. */
  readonly placeholder?: string;
  /** Called with each letter. */
  readonly onType?: (typed: string) => void;
}

const PAUSE_MS = 200;

/** A search box. `/` moves the focus into it, and the arrow down out of it: to the current row of the table, or its first. */
export function SearchBox({ value, onSearch, label = t('ui.search'), ...props }: SearchBoxProps) {
  const [typed, setTyped] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  const latest = useRef(onSearch);
  latest.current = onSearch;
  const shortcuts = useRef<Shortcut[]>([
    { keys: '/', text: 'shortcuts.search', run: () => input.current?.focus() },
  ]);
  useShortcuts(shortcuts.current);
  // The value changes from outside, too: by the history, or a button that clears all filters.
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => latest.current(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, value]);
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
      onInput={(event) => {
        setTyped(event.currentTarget.value);
        props.onType?.(event.currentTarget.value);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onSearch(typed);
        if (event.key !== 'ArrowDown') return;
        event.preventDefault();
        const rows = (which: string) => document.querySelector<HTMLElement>(`main .table-row[${which}]`);
        (rows('tabindex="0"') ?? rows('aria-rowindex="2"'))?.focus();
      }}
    />
  );
}
