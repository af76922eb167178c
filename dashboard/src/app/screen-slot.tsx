/** The screen of the present path. */
import { Component, type ComponentChildren, type ComponentType } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { usePart } from '../data/use-part.ts';
import { NotFoundScreen } from '../screens/not-found/not-found-screen.tsx';
import { loadTexts, t } from '../text/text.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNote } from '../ui/error-note.tsx';
import { Loading } from '../ui/loading.tsx';
import { loadLaterStyle } from './later-style.ts';
import { place } from './router.ts';
import { findRoute, type Route, type ScreenProps } from './routes.ts';

/** Screens that are loaded: the second visit shows them at once. */
const loaded = new Map<Route, ComponentType<ScreenProps>>();

/** Their style and their texts are those of the page. */
const FIRST_SCREENS: ReadonlySet<string> = new Set(['/', '/account', '/sign-in']);

/** @param user id of the signed-in user: for another one the screen starts again */
export function ScreenSlot({ user }: { readonly user: string }) {
  const { pathname } = place.value;
  const found = findRoute(pathname);
  const route = found?.route ?? null;
  const part = usePart(route === null || loaded.has(route) ? null : route.path, async () => {
    if (route === null) return;
    const isFirst = FIRST_SCREENS.has(route.path);
    // Scripts of screens read texts as they are loaded.
    const loading = isFirst ? route.load() : loadTexts().then(() => route.load());
    const [screen] = await Promise.all([loading, isFirst ? null : loadLaterStyle()]);
    loaded.set(route, screen);
  });
  const Screen = route === null ? undefined : loaded.get(route);
  const isReady = Screen !== undefined || found === null;
  useFocusOnHeading(pathname, isReady);
  if (found === null) return <NotFoundScreen params={{ path: pathname }} />;
  if (part.error !== undefined && Screen === undefined)
    return <ErrorNote error={part.error} again={part.again} />;
  if (Screen === undefined) return <Loading />;
  return (
    <Guard key={`${pathname} ${user}`}>
      <Screen params={found.params} />
    </Guard>
  );
}

/**
 * After navigation the focus is on the new heading, so that readers of the screen begin there. Not at the first page. It is there before the
 * next frame: a Tab right after the screen is seen would begin anywhere else, and take a way round the whole page.
 */
function useFocusOnHeading(pathname: string, isReady: boolean): void {
  const focused = useRef(pathname);
  useLayoutEffect(() => {
    if (!isReady || focused.current === pathname) return;
    focused.current = pathname;
    const heading = document.querySelector<HTMLElement>('main h1');
    // A screen may have put the focus into its form.
    if (heading !== null && !document.querySelector('main')?.contains(document.activeElement))
      heading.focus();
  }, [pathname, isReady]);
}

interface GuardState {
  readonly error: unknown;
}

/** A fault of a screen must not take the navigation with it. */
class Guard extends Component<{ readonly children: ComponentChildren }, GuardState> {
  override state: GuardState = { error: undefined };

  static override getDerivedStateFromError(error: unknown): GuardState {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <>
        <h1 tabIndex={-1}>{t('shell.broken')}</h1>
        <ErrorNote error={error} />
        <Button onClick={() => this.setState({ error: undefined })}>{t('ui.tryAgain')}</Button>
      </>
    );
  }
}
