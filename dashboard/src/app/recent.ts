/** Pages that were visited last, in the memory of this page. */
import { effect } from '@preact/signals';
import { place } from './router.ts';

export interface Visit {
  /** Path and query. */
  readonly to: string;
  /** Of the tab, without the name of the product. */
  readonly title: string;
}

const VISITS_MAX = 8;
let visits: readonly Visit[] = [];

/** The newest first. */
export function recentVisits(): readonly Visit[] {
  return visits;
}

/** Another person may sign in here. */
export function forgetVisits(): void {
  visits = [];
}

/** Notes each page when it is left: only then its title is known. @returns a function that ends it */
export function followVisits(): () => void {
  let now: string | null = null;
  return effect(() => {
    const { pathname, query } = place.value;
    const text = query.toString();
    const next = `${pathname}${text === '' ? '' : `?${text}`}`;
    if (now !== null && now !== next) note({ to: now, title: document.title.replace(/ · [^·]*$/, '') });
    now = next;
  });
}

/** Of one page with several filters, only the last is kept. */
function note(visit: Visit): void {
  const pathOf = (to: string): string => to.split('?')[0]!;
  const others = visits.filter(({ to }) => pathOf(to) !== pathOf(visit.to));
  visits = [visit, ...others].slice(0, VISITS_MAX);
}
