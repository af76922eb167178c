/** Goes to pages, namespaces, webhooks and keys by their names, and does what is done everywhere. */
import { useEffect, useId, useState } from 'preact/hooks';
import { useResource } from '../data/resource.ts';
import { t } from '../text/text.ts';
import { Dialog } from '../ui/dialog.tsx';
import { toast } from '../ui/toast.tsx';
import { api } from './client.ts';
import { ranked } from './rank.ts';
import { navigate } from './router.ts';
import { NAV_LINKS } from './routes.ts';
import { signOut } from './session.ts';
import { setTheme, THEMES } from './theme.ts';

interface Item {
  readonly id: string;
  readonly text: string;
  /** What kind of thing it is. */
  readonly kind: string;
  readonly run: () => void;
}

const SHOWN_MAX = 12;
/** Milliseconds in which the names are not read again. */
const FRESH_MS = 30_000;

export interface PaletteProps {
  readonly onClose: () => void;
  readonly onHelp: () => void;
}

export function Palette({ onClose, onHelp }: PaletteProps) {
  const id = useId();
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const found = ranked(useItems(onHelp), ({ text }) => text, query).slice(0, SHOWN_MAX);
  useEffect(() => setAt(0), [query]);
  const choose = (item: Item | undefined): void => {
    if (item === undefined) return;
    onClose();
    item.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) setAt((at + step + found.length) % found.length);
    else if (event.key === 'Enter') choose(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={t('shell.palette')} onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label={t('shell.paletteLabel')}
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        spellcheck={false}
        autofocus
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
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
            <span>{item.text}</span>
            <span class="dim">{item.kind}</span>
          </div>
        ))}
      </div>
      <p role="status" class={found.length > 0 ? 'hidden' : ''}>
        {found.length > 0 ? '' : t('shell.paletteNone')}
      </p>
    </Dialog>
  );
}

function useItems(onHelp: () => void): readonly Item[] {
  const namespaces = useResource('namespaces', (signal) => api.namespaces.list({ signal }), {
    freshMs: FRESH_MS,
  });
  const webhooks = useResource('webhooks', (signal) => api.webhooks.list({ signal }), { freshMs: FRESH_MS });
  const page = (path: string, text: string, kind: string): Item => ({
    id: path,
    text,
    kind,
    run: () => navigate(path),
  });
  return [
    ...NAV_LINKS.map(({ path, text }) => page(path, t(text), t('shell.kindPage'))),
    page('/audit', t('audit.title'), t('shell.kindPage')),
    ...(namespaces.value ?? []).flatMap(({ name }) => [
      page(`/namespaces/${encodeURIComponent(name)}`, name, t('shell.kindNamespace')),
      page(
        `/records?namespace=${encodeURIComponent(name)}`,
        t('shell.recordsOf', { name }),
        t('shell.kindNamespace'),
      ),
    ]),
    ...(webhooks.value ?? []).map(({ id, name }) =>
      page(`/webhooks/${encodeURIComponent(id)}`, name, t('shell.kindWebhook')),
    ),
    ...actions(onHelp),
  ];
}

function actions(onHelp: () => void): readonly Item[] {
  const names = { auto: 'shell.themeAuto', light: 'shell.themeLight', dark: 'shell.themeDark' } as const;
  const kind = t('shell.kindAction');
  return [
    ...THEMES.map((theme) => ({
      id: `theme ${theme}`,
      text: t('shell.theme', { theme: t(names[theme]) }),
      kind,
      run: () => setTheme(theme),
    })),
    { id: 'help', text: t('shell.help'), kind, run: onHelp },
    {
      id: 'sign-out',
      text: t('shell.signOut'),
      kind,
      run: () => {
        signOut().catch(() => toast(t('ui.noConnection'), { isError: true }));
      },
    },
  ];
}
