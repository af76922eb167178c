/** What is around a screen that is open to people who are not signed in. */
import type { ComponentChildren } from 'preact';
import { t } from '../text/text.ts';
import { Brand } from '../ui/brand.tsx';
import { Toasts } from '../ui/toast.tsx';
import { place } from './router.ts';
import { findRoute } from './routes.ts';
import { ScreenSlot } from './screen-slot.tsx';
import { ThemeButton } from './theme-button.tsx';

/** `/docs` is no page of this program: the server has it. */
const LINKS = [
  { path: '/services', text: 'nav.services' },
  { path: '/playground', text: 'nav.playground' },
  { path: '/api', text: 'nav.api' },
  { path: '/docs', text: 'nav.docs' },
] as const;

export function VisitorFrame() {
  const { pathname, query } = place.value;
  const text = query.toString();
  const next = `${pathname}${text === '' ? '' : `?${text}`}`;
  const signIn = findRoute(pathname) === null ? '/sign-in' : `/sign-in?next=${encodeURIComponent(next)}`;
  return (
    <>
      <VisitorHeader>
        <a class="button primary" href={signIn}>
          {t('nav.signIn')}
        </a>
      </VisitorHeader>
      <main id="main" class="visitor">
        <ScreenSlot user="" />
      </main>
      <Toasts />
    </>
  );
}

/** @param children after the links: the button to sign in, but not where one is signing in */
export function VisitorHeader({ children }: { readonly children?: ComponentChildren }) {
  const { pathname } = place.value;
  return (
    <>
      <a class="skip" href="#main">
        {t('nav.skip')}
      </a>
      <header class="top visitor-top">
        <Brand />
        <span class="grow" />
        <nav aria-label={t('nav.site')}>
          {LINKS.map(({ path, text: name }) => (
            <a
              key={path}
              href={path}
              aria-current={pathname === path || pathname.startsWith(`${path}/`) ? 'page' : undefined}
            >
              {t(name)}
            </a>
          ))}
        </nav>
        <ThemeButton />
        {children}
      </header>
    </>
  );
}
