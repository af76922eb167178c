/** Where a sign-in leads. */

/** @param wanted `next` of the address, which anyone may have written. @returns a path of the dashboard */
export function nextPage(wanted: string | null, origin: string): string {
  if (wanted === null || !wanted.startsWith('/')) return '/';
  const url = URL.canParse(wanted, origin) ? new URL(wanted, origin) : null;
  if (url === null || url.origin !== origin || url.pathname === '/sign-in') return '/';
  return `${url.pathname}${url.search}`;
}
