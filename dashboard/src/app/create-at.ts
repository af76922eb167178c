/** Opens the form of another page, as its key `c` does. */
import { effect } from '@preact/signals';
import { navigate, place } from './router.ts';
import { activeShortcuts } from './shortcuts.ts';

/** Milliseconds that a page has to appear. */
const APPEAR_MS = 10_000;

/** Goes to a page and presses its `c`, as soon as it has that key: not the one of the page before. */
export function createAt(path: string): void {
  const create = () => activeShortcuts().find(({ keys }) => keys === 'c');
  const before = create();
  const { pathname, searchParams } = new URL(path, location.href);
  const now = place.peek();
  // The page stays, with its key.
  const isThere = now.pathname === pathname && now.query.get('tab') === searchParams.get('tab');
  navigate(path);
  const started = performance.now();
  // Effects of a new page run after the next frame.
  requestAnimationFrame(() =>
    setTimeout(() => {
      let end: (() => void) | null = null;
      end = effect(() => {
        const found = create();
        const isLate = performance.now() - started > APPEAR_MS;
        if (found !== undefined && (isThere || found !== before) && !isLate) queueMicrotask(found.run);
        else if (!isLate) return;
        queueMicrotask(() => end?.());
      });
    }),
  );
}
