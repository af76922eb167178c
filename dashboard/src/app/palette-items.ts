/** What the palette knows without asking: pages, names of the account, actions. */
import type { NamespaceResource } from '../../../sdk/src/uqrp-sdk.ts';
import { useResource } from '../data/resource.ts';
import { t } from '../text/text.ts';
import {
  AccountIcon,
  AuditIcon,
  HelpIcon,
  HistoryIcon,
  type IconShape,
  NamespaceIcon,
  PlusIcon,
  RecordIcon,
  SignOutIcon,
  SunMoonIcon,
  WebhookIcon,
} from '../ui/icon.tsx';
import { toast } from '../ui/toast.tsx';
import { api } from './client.ts';
import { createAt } from './create-at.ts';
import { useNavLinks } from './nav-links.ts';
import { recentVisits } from './recent.ts';
import { navigate, place } from './router.ts';
import { NAV_LINKS } from './routes.ts';
import { signOut, useIsOwner } from './session.ts';
import { setTheme, THEMES } from './theme.ts';

export interface Item {
  readonly id: string;
  readonly icon: IconShape;
  readonly text: string;
  /** What kind of thing it is. */
  readonly kind: string;
  readonly run: () => void;
  /** The shortcut that does the same. */
  readonly keys?: string;
  /** Does something; also found after `>`. */
  readonly isAction?: true;
  /** Shown before anything is typed. */
  readonly isShown?: true;
}

/** Milliseconds in which the names are not read again. */
const FRESH_MS = 30_000;

export function pageItem(path: string, text: string, kind: string): Item {
  return { id: path, icon: AccountIcon, text, kind, run: () => navigate(path) };
}

export function useItems(onHelp: () => void): readonly Item[] {
  const namespaces = useResource('namespaces', (signal) => api.namespaces.list({ signal }), {
    freshMs: FRESH_MS,
  });
  const webhooks = useResource('webhooks', (signal) => api.webhooks.list({ signal }), { freshMs: FRESH_MS });
  const { pathname } = place.value;
  const isOwner = useIsOwner();
  const links = useNavLinks();
  return [
    ...recentVisits()
      .filter(({ to }) => to.split('?')[0] !== pathname && !NAV_LINKS.some(({ path }) => path === to))
      .map(
        ({ to, title }): Item => ({
          ...pageItem(to, title, t('shell.kindRecent')),
          icon: HistoryIcon,
          isShown: true,
        }),
      ),
    ...links.map(
      ({ path, text, icon, key }): Item => ({
        ...pageItem(path, t(text), t('shell.kindPage')),
        icon,
        keys: `g ${key}`,
        isShown: true,
      }),
    ),
    ...(isOwner
      ? [
          { ...pageItem('/audit', t('audit.title'), t('shell.kindPage')), icon: AuditIcon },
          creating('/api-keys', t('apiKeys.new')),
        ]
      : []),
    ...actions(onHelp),
    ...(namespaces.value ?? []).flatMap(ofNamespace),
    ...(webhooks.value ?? []).map(({ id, name }) => ({
      ...pageItem(`/webhooks/${encodeURIComponent(id)}`, name, t('shell.kindWebhook')),
      icon: WebhookIcon,
    })),
  ];
}

function ofNamespace({ name, suspended }: NamespaceResource): readonly Item[] {
  const path = `/namespaces/${encodeURIComponent(name)}`;
  const records = `/records?namespace=${encodeURIComponent(name)}`;
  const kind = t('shell.kindNamespace');
  return [
    { ...pageItem(path, name, kind), icon: NamespaceIcon },
    { ...pageItem(records, t('shell.recordsOf', { name }), kind), icon: RecordIcon },
    ...(suspended === true
      ? []
      : [
          creating(records, t('shell.newRecordIn', { name })),
          creating(`${path}?tab=tokens`, t('shell.mintFor', { name })),
        ]),
  ];
}

/** Opens the form of a page, as its key `c` does. */
function creating(path: string, text: string): Item {
  const kind = t('shell.kindAction');
  return { id: `new ${path}`, icon: PlusIcon, text, kind, run: () => createAt(path), isAction: true };
}

function actions(onHelp: () => void): readonly Item[] {
  const names = { auto: 'shell.themeAuto', light: 'shell.themeLight', dark: 'shell.themeDark' } as const;
  const kind = t('shell.kindAction');
  return [
    creating('/namespaces', t('namespaces.new')),
    creating('/webhooks', t('webhooks.new')),
    ...THEMES.map(
      (theme): Item => ({
        id: `theme ${theme}`,
        icon: SunMoonIcon,
        text: t('shell.theme', { theme: t(names[theme]) }),
        kind,
        run: () => setTheme(theme),
        isAction: true,
      }),
    ),
    { id: 'help', icon: HelpIcon, text: t('shell.help'), kind, run: onHelp, keys: '?', isAction: true },
    {
      id: 'sign-out',
      icon: SignOutIcon,
      text: t('shell.signOut'),
      kind,
      run: () => {
        signOut().catch(() => toast(t('ui.noConnection'), { isError: true }));
      },
      isAction: true,
    },
  ];
}
