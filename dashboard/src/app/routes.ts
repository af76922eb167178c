/** The pages. A new screen is one row here; its text is a section of text/en.json. */
import type { ComponentType } from 'preact';
import { AccountScreen } from '../screens/account/account-screen.tsx';
import { OverviewScreen } from '../screens/overview/overview-screen.tsx';
import { SignInScreen } from '../screens/sign-in/sign-in-screen.tsx';
import type { TextKey } from '../text/text.ts';
import {
  AccountIcon,
  ApiIcon,
  ApiKeyIcon,
  DatasetIcon,
  type IconShape,
  NamespaceIcon,
  OrganizationIcon,
  OverviewIcon,
  PlaygroundIcon,
  QueryLogIcon,
  RecordIcon,
  ServicesIcon,
  UsageIcon,
  WebhookIcon,
} from '../ui/icon.tsx';

export interface ScreenProps {
  /** Parts of the path: `/namespaces/:name` gives `name`. Decoded. */
  readonly params: Readonly<Record<string, string>>;
}

export interface Route {
  /** A pattern of URLPattern. */
  readonly path: string;
  /** What the tab's title begins with, until the screen sets another one. */
  readonly title: TextKey;
  /** Also for people who are not signed in. */
  readonly isOpen?: true;
  /** Without navigation, also for somebody who is signed in. */
  readonly isAlone?: true;
  /** Each screen but the first ones is a chunk of its own. */
  readonly load: () => Promise<ComponentType<ScreenProps>>;
}

/** Alphabetical by path. */
export const ROUTES: readonly Route[] = [
  {
    path: '/',
    title: 'nav.overview',
    load: async () => OverviewScreen,
  },
  {
    path: '/account',
    title: 'nav.account',
    load: async () => AccountScreen,
  },
  {
    path: '/api',
    title: 'nav.api',
    isOpen: true,
    load: async () => (await import('../screens/api/api-screen.tsx')).ApiScreen,
  },
  {
    path: '/api-keys',
    title: 'apiKeys.title',
    load: async () => (await import('../screens/api-keys/api-keys-screen.tsx')).ApiKeysScreen,
  },
  {
    path: '/audit',
    title: 'audit.title',
    load: async () => (await import('../screens/audit/audit-screen.tsx')).AuditScreen,
  },
  {
    path: '/datasets',
    title: 'datasets.title',
    load: async () => (await import('../screens/datasets/datasets-screen.tsx')).DatasetsScreen,
  },
  {
    path: '/namespaces',
    title: 'nav.namespaces',
    load: async () => (await import('../screens/namespaces/namespaces-screen.tsx')).NamespacesScreen,
  },
  {
    path: '/namespaces/:name',
    title: 'nav.namespaces',
    load: async () => (await import('../screens/namespaces/namespace-screen.tsx')).NamespaceScreen,
  },
  {
    path: '/organization',
    title: 'organization.title',
    load: async () => (await import('../screens/organization/organization-screen.tsx')).OrganizationScreen,
  },
  {
    path: '/playground',
    title: 'nav.playground',
    isOpen: true,
    load: async () => (await import('../screens/playground/playground-screen.tsx')).PlaygroundScreen,
  },
  {
    path: '/query-log',
    title: 'queryLog.title',
    load: async () => (await import('../screens/query-log/query-log-screen.tsx')).QueryLogScreen,
  },
  {
    path: '/records',
    title: 'nav.records',
    load: async () => (await import('../screens/records/records-screen.tsx')).RecordsScreen,
  },
  {
    path: '/records/import',
    title: 'import.title',
    load: async () => (await import('../screens/import/import-screen.tsx')).ImportScreen,
  },
  {
    path: '/services',
    title: 'services.title',
    isOpen: true,
    load: async () => (await import('../screens/services/services-list-screen.tsx')).ServicesListScreen,
  },
  {
    path: '/services/:name',
    title: 'services.title',
    isOpen: true,
    load: async () => (await import('../screens/services/service-screen.tsx')).ServiceScreen,
  },
  {
    path: '/sign-in',
    title: 'signIn.title',
    isOpen: true,
    isAlone: true,
    load: async () => SignInScreen,
  },
  {
    path: '/usage',
    title: 'usage.title',
    load: async () => (await import('../screens/usage/usage-screen.tsx')).UsageScreen,
  },
  {
    path: '/webhooks',
    title: 'webhooks.title',
    load: async () => (await import('../screens/webhooks/webhooks-screen.tsx')).WebhooksScreen,
  },
  {
    path: '/webhooks/:id',
    title: 'webhooks.one',
    load: async () => (await import('../screens/webhooks/webhook-screen.tsx')).WebhookScreen,
  },
];

export interface NavLink {
  readonly path: string;
  readonly text: TextKey;
  readonly icon: IconShape;
  /** A gap is before it. */
  readonly isApart?: true;
  /** Another page that is reached from this one. */
  readonly with?: string;
  /** Second key of the shortcut `g` …. */
  readonly key: string;
  /** Visible on phones without the button `More`. */
  readonly isOnPhones?: true;
}

/** Links of the navigation, in its order. */
export const NAV_LINKS: readonly NavLink[] = [
  { path: '/', icon: OverviewIcon, text: 'nav.overview', key: 'o', isOnPhones: true },
  { path: '/namespaces', icon: NamespaceIcon, text: 'nav.namespaces', key: 'n' },
  { path: '/records', icon: RecordIcon, text: 'nav.records', key: 'r', isOnPhones: true },
  {
    path: '/playground',
    icon: PlaygroundIcon,
    isApart: true,
    text: 'nav.playground',
    key: 'p',
    isOnPhones: true,
  },
  { path: '/services', icon: ServicesIcon, text: 'nav.services', key: 's' },
  { path: '/query-log', icon: QueryLogIcon, text: 'nav.queryLog', key: 'l' },
  { path: '/webhooks', icon: WebhookIcon, isApart: true, text: 'nav.webhooks', key: 'w', isOnPhones: true },
  { path: '/api-keys', icon: ApiKeyIcon, text: 'nav.apiKeys', key: 'k' },
  { path: '/usage', icon: UsageIcon, text: 'nav.usage', key: 'u' },
  { path: '/datasets', icon: DatasetIcon, text: 'nav.datasets', key: 'd' },
  { path: '/api', icon: ApiIcon, text: 'nav.api', key: 'i' },
  { path: '/organization', icon: OrganizationIcon, text: 'organization.title', key: 'm', isApart: true },
  { path: '/account', icon: AccountIcon, isApart: true, text: 'nav.account', key: 'a', with: '/audit' },
];

export interface Found {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** The screen of a path; null: there is none. */
export function findRoute(pathname: string): Found | null {
  for (const route of ROUTES) {
    const match = new URLPattern({ pathname: route.path }).exec({ pathname });
    if (match === null) continue;
    const params: Record<string, string> = {};
    for (const [name, value] of Object.entries(match.pathname.groups)) params[name] = decoded(value ?? '');
    return { route, params };
  }
  return null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
