/** The address of the page: a signal that follows it, and functions that change it. */
import { signal } from '@preact/signals';
import { hasTokenLabel } from '../format/masked-name.ts';

/** Where the page is. `query` has filters and selections, never secrets. */
export interface Place {
  readonly pathname: string;
  readonly query: URLSearchParams;
}

export interface NavigateOptions {
  /** Replaces the present entry of the history. */
  readonly replace?: boolean;
}

function placeOf(url: URL): Place {
  return { pathname: url.pathname, query: url.searchParams };
}

export const place = signal<Place>(placeOf(new URL(location.href)));
const firstPlace = place.peek();

/** Whether the page has gone anywhere since the browser loaded it. */
export function hasNavigated(): boolean {
  return place.peek() !== firstPlace;
}

/** Set by a form with unsaved input. @returns whether the user agrees to lose it */
type MayLeave = (to: URL) => boolean;
/** The last one asks: it stands above the others. */
let questions: readonly MayLeave[] = [];

/** @returns a function that takes the question back */
export function askBeforeLeaving(ask: MayLeave): () => void {
  questions = [...questions, ask];
  return () => {
    questions = questions.filter((one) => one !== ask);
  };
}

/** Takes back the question of any form: the page must be left. */
export function leaveWithoutQuestion(): void {
  questions = [];
}

/** Which pages the server has to send: they are not of this program. */
let isElsewhere: (pathname: string) => boolean = () => false;

export function leaveToServer(isOfServer: (pathname: string) => boolean): void {
  isElsewhere = isOfServer;
}

/** Whether an address is a page of the dashboard, as opposed to the API or a file. */
function isOurs(url: URL): boolean {
  return (
    url.origin === location.origin &&
    !isElsewhere(url.pathname) &&
    !/^\/(?:api\/v1|assets|dns-query|docs|resolve|schema)(?:\/|$)|\./.test(url.pathname)
  );
}

/** Goes to a page of the dashboard. @param to path with its query */
export function navigate(to: string, { replace = false }: NavigateOptions = {}): void {
  const url = new URL(to, location.href);
  if (url.href === location.href) return;
  if (isElsewhere(url.pathname)) {
    location[replace ? 'replace' : 'assign'](url);
    return;
  }
  if (hasNavigation()) {
    // Its promises reject when another navigation takes over, which is no fault.
    const { committed, finished } = navigation.navigate(url.href, { history: replace ? 'replace' : 'push' });
    committed?.catch(() => undefined);
    finished?.catch(() => undefined);
    return;
  }
  if (isRefused(url)) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', url);
  place.value = placeOf(url);
}

/** Changes members of the query, and keeps the others. Null removes one, and so does a name with a query token. */
export function setQuery(
  changes: Readonly<Record<string, string | null>>,
  options: NavigateOptions = { replace: true },
): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '' || hasTokenLabel(value.trim())) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  navigate(`${place.value.pathname}${text === '' ? '' : `?${text}`}`, options);
}

function isRefused(url: URL): boolean {
  const mayLeave = questions.at(-1);
  const { pathname, query } = place.value;
  // Another tab of the same page takes what is in this one away; a filter does not.
  const isStaying = url.pathname === pathname && url.searchParams.get('tab') === query.get('tab');
  return mayLeave !== undefined && !isStaying && !mayLeave(url);
}

function hasNavigation(): boolean {
  return 'navigation' in globalThis;
}

/** Follows links and the history from now on. */
export function startRouter(): void {
  if (hasNavigation()) navigation.addEventListener('navigate', onNavigate);
  else {
    document.addEventListener('click', onClick);
    globalThis.addEventListener('popstate', () => {
      place.value = placeOf(new URL(location.href));
    });
  }
  globalThis.addEventListener('beforeunload', (event) => {
    if (questions.length > 0) event.preventDefault();
  });
}

function onNavigate(event: NavigateEvent): void {
  const url = new URL(event.destination.url);
  if (!event.canIntercept || event.hashChange || event.downloadRequest !== null || event.formData !== null)
    return;
  if (!isOurs(url) || event.navigationType === 'reload') return;
  if (event.cancelable && isRefused(url)) {
    event.preventDefault();
    return;
  }
  const isSamePage = url.pathname === place.value.pathname;
  event.intercept({
    // The shell moves the focus to the new heading.
    focusReset: 'manual',
    scroll: isSamePage ? 'manual' : 'after-transition',
    handler: async () => {
      place.value = placeOf(url);
    },
  });
}

function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.target !== '' || link.hasAttribute('download')) return;
  const url = new URL(link.href);
  if (!isOurs(url) || url.hash !== '') return;
  event.preventDefault();
  navigate(url.href);
}
