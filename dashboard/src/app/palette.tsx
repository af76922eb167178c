/** Goes to pages, records, namespaces and documents by their names, and does what is done everywhere. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Found } from '../documents/search.ts';
import { hasTokenLabel, maskText } from '../format/masked-name.ts';
import { t } from '../text/text.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ApiIcon, DocsIcon, Icon, RecordIcon } from '../ui/icon.tsx';
import { api } from './client.ts';
import { askInPlayground } from './handed-name.ts';
import { type Item, pageItem, useItems } from './palette-items.ts';
import { ranked } from './rank.ts';

const SHOWN_MAX = 12;
/** Rows of stored records. */
const RECORDS_MAX = 6;
/** Milliseconds after the last letter. */
const PAUSE_MS = 150;
/** Of fewer letters everything would be found. */
const LETTERS_MIN = 2;

export interface PaletteProps {
  readonly onClose: () => void;
  readonly onHelp: () => void;
}

export function Palette({ onClose, onHelp }: PaletteProps) {
  const id = useId();
  const [query, setQuery] = useState('');
  /** Id of the item that was gone to: others may come before it, when what was asked for is there. */
  const [goneTo, setGoneTo] = useState<string | null>(null);
  const items = useItems(onHelp);
  const isDocuments = query.startsWith('?');
  const isActions = query.startsWith('>');
  const text = (isDocuments || isActions ? query.slice(1) : query).trim();
  const records = useFound(isDocuments || isActions ? '' : text, recordsOf);
  const documents = useFound(isDocuments ? text : '', documentsOf);
  const found = isDocuments
    ? [...documents, documentItem(text)]
    : merged(items, { text, isActions, records }).slice(0, SHOWN_MAX);
  const at = Math.max(
    0,
    found.findIndex((item) => item.id === goneTo),
  );
  const choose = (item: Item | undefined): void => {
    if (item === undefined) return;
    onClose();
    item.run();
  };
  const move = (to: number): void => {
    setGoneTo(found[to]?.id ?? null);
    document.getElementById(`${id}-${to}`)?.scrollIntoView({ block: 'nearest' });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) move((at + step + found.length) % found.length);
    else if (event.key === 'Enter') choose(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={t('shell.palette')} onClose={onClose} place="upper">
      <input
        type="text"
        role="combobox"
        aria-label={t('shell.paletteLabel')}
        placeholder={t('shell.palettePlaceholder')}
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        spellcheck={false}
        autofocus
        value={query}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setGoneTo(null);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={`${id}-list`} role="listbox" aria-label={t('shell.palette')} class="palette">
        {found.map((item, index) => (
          <div
            key={item.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            tabIndex={-1}
            onClick={() => choose(item)}
          >
            <Icon of={item.icon} />
            <span class="grow">{item.text}</span>
            <span class="dim">{item.kind}</span>
            {item.keys?.split(' ').map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </div>
        ))}
      </div>
      <p role="status" class={found.length > 0 ? 'hidden' : ''}>
        {found.length > 0 ? '' : t('shell.paletteNone')}
      </p>
    </Dialog>
  );
}

interface Asked {
  readonly text: string;
  readonly isActions: boolean;
  readonly records: readonly Item[];
}

/** What the letters find: good matches, stored records, then what only has the letters in their order. */
function merged(items: readonly Item[], { text, isActions, records }: Asked): readonly Item[] {
  if (text === '' && !isActions) return items.filter(({ isShown }) => isShown === true);
  const own = items.filter(({ isAction }) => !isActions || isAction === true);
  const matching = ranked(own, (item) => item.text, text);
  if (isActions) return matching;
  const isNear = (item: Item): boolean => item.text.toLowerCase().includes(text.toLowerCase());
  // A recent page, or a record of the last answer, is found once.
  const seen = new Set<string>();
  return [...matching.filter(isNear), ...records, ...askItems(text), ...matching].filter(
    ({ id }) => !seen.has(id) && seen.add(id),
  );
}

/** A text with a dot may be a name of the DNS, or a key. */
function askItems(text: string): readonly Item[] {
  if (!/^[^\s.]+(?:\.[^\s.]+)+\.?$/.test(text)) return [];
  const path = `/playground?name=${encodeURIComponent(text)}`;
  const item = pageItem(path, t('shell.ask', { name: maskText(text) }), t('shell.kindPlayground'));
  const secret = hasTokenLabel(text) && { id: 'ask', run: () => askInPlayground(text) };
  return [{ ...item, ...secret, icon: ApiIcon }];
}

async function recordsOf(text: string, signal: AbortSignal): Promise<readonly Item[]> {
  // No key has such a label, and an address is kept in logs.
  if (text.length < LETTERS_MIN || /\s/.test(text) || hasTokenLabel(text)) return [];
  const { items } = await api.records.list({ q: text.toLowerCase() }, { limit: RECORDS_MAX, signal }).page();
  return items.map(({ id, key }) => ({
    ...pageItem(`/records?record=${encodeURIComponent(id)}`, key, t('shell.kindRecord')),
    icon: RecordIcon,
  }));
}

async function documentsOf(text: string, signal: AbortSignal): Promise<readonly Item[]> {
  if (text.length < LETTERS_MIN) return [];
  // The page names the index of its build.
  const page = await (await fetch('/docs', { signal })).text();
  const address = /data-search="([^"]+)"/.exec(page)?.[1];
  if (address === undefined) return [];
  const [{ search }, index] = await Promise.all([
    import('../documents/search.ts'),
    fetch(address, { signal }).then((answer) => answer.json()),
  ]);
  return search(index, text).map(({ url, page: title, section }: Found) => ({
    id: url,
    icon: DocsIcon,
    text: section === '' ? title : section,
    kind: section === '' ? t('shell.kindDocument') : title,
    run: () => location.assign(url),
  }));
}

/** The documents themselves. */
function documentItem(text: string): Item {
  return {
    id: 'documents',
    icon: DocsIcon,
    text: t('shell.documents'),
    kind: t('shell.kindDocument'),
    run: () =>
      location.assign(text === '' || hasTokenLabel(text) ? '/docs' : `/docs?q=${encodeURIComponent(text)}`),
  };
}

/** What a source finds, a moment after the last letter. Until then, and when it fails, what it found before. */
function useFound(
  text: string,
  find: (text: string, signal: AbortSignal) => Promise<readonly Item[]>,
): readonly Item[] {
  const [found, setFound] = useState<readonly Item[]>([]);
  const source = useRef(find);
  useEffect(() => {
    if (text === '') return setFound([]);
    const abort = new AbortController();
    const timer = setTimeout(() => {
      source.current(text, abort.signal).then(
        (items) => {
          if (!abort.signal.aborted) setFound(items);
        },
        () => undefined,
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return found;
}
