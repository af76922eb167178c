/** Which requests are for a page of the dashboard: it has one document, which shows the screen of its path. */

/** First segments of the dashboard's paths. A test compares them with its table of routes. */
export const PAGES: ReadonlySet<string> = new Set([
  '',
  'account',
  'api',
  'api-keys',
  'datasets',
  'namespaces',
  'playground',
  'query-log',
  'records',
  'sign-in',
  'usage',
  'webhooks',
]);

/** First segments that belong to programs, whatever a client accepts. */
const NOT_PAGES: ReadonlySet<string> = new Set([
  'assets',
  'dns-query',
  'livez',
  'metrics',
  'readyz',
  'resolve',
  'schema',
]);

/** `page`: text/html by name. `any`: everything, as programs say that do not care. */
export type Accepts = 'page' | 'any' | 'other';

/** @param header `Accept` */
export function acceptsOf(header: string | undefined): Accepts {
  if (header === undefined) return 'any';
  const types = header
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';', 1)[0]!.trim());
  if (types.includes('text/html') || types.includes('application/xhtml+xml')) return 'page';
  return types.includes('*/*') || types.includes('text/*') ? 'any' : 'other';
}

/**
 * A browser gets the document at every path without a dot: the dashboard says that it has no such page. Other clients get it where there
 * is a page, and elsewhere the API's 404.
 * @param path without its query
 */
export function isPage(path: string, accepts: Accepts): boolean {
  if (!path.startsWith('/') || path.includes('.') || accepts === 'other') return false;
  const [first = '', ...rest] = path.slice(1).split('/');
  // `/api` is the reference of the API; below it is the API.
  if (NOT_PAGES.has(first) || (first === 'api' && rest.length > 0)) return false;
  return accepts === 'page' || (PAGES.has(first) && !path.startsWith('//'));
}
