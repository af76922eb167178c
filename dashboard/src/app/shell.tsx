/** What is around every screen. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { UserResource } from '../../../sdk/src/uqrp-sdk.ts';
import { useResource } from '../data/resource.ts';
import { SignInForm } from '../screens/sign-in/sign-in-form.tsx';
import { t } from '../text/text.ts';
import { Brand } from '../ui/brand.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorNote } from '../ui/error-note.tsx';
import { AccountIcon, HelpIcon, Icon, OrganizationIcon, SearchIcon } from '../ui/icon.tsx';
import { Loading } from '../ui/loading.tsx';
import { Toasts } from '../ui/toast.tsx';
import { api } from './client.ts';
import { HelpDialog } from './help-dialog.tsx';
import { Nav } from './nav.tsx';
import { isOffline } from './offline.ts';
import { Palette } from './palette.tsx';
import { PasskeyOffer } from './passkey-offer.tsx';
import { followVisits } from './recent.ts';
import { navigate, place } from './router.ts';
import { findRoute, NAV_LINKS } from './routes.ts';
import { ScreenSlot } from './screen-slot.tsx';
import { identityOf, isLandingOn, session, signedIn, startSession } from './session.ts';
import { addShortcuts, type Shortcut } from './shortcuts.ts';
import { ThemeButton } from './theme-button.tsx';
import { VisitorFrame, VisitorHeader } from './visitor-frame.tsx';

export function Shell() {
  const now = session.value;
  const { pathname, query } = place.value;
  const route = findRoute(pathname)?.route;
  const isOpen = route?.isOpen === true;
  const isOut = now.phase === 'out';
  // A path of no page says so, to everybody.
  const isUnknown = route === undefined;
  const leadsToSignIn = isOut && !isOpen && !isUnknown;
  const hasLeft = now.phase === 'out' && now.hasLeft;
  useEffect(() => {
    if (!leadsToSignIn) return;
    if (pathname === '/' && isLandingOn() && !hasLeft) {
      // The cookie of a session that has ended is still there, so the address says that it means nothing.
      navigate('/?visitor', { replace: true });
      return;
    }
    const text = query.toString();
    const next = `${pathname}${text === '' ? '' : `?${text}`}`;
    navigate(next === '/' || hasLeft ? '/sign-in' : `/sign-in?next=${encodeURIComponent(next)}`, {
      replace: true,
    });
  }, [leadsToSignIn, hasLeft, pathname, query]);
  if (now.phase === 'unreachable') {
    return (
      <main class="alone">
        <Brand />
        <h1 class="hidden">uqrp</h1>
        <ErrorNote error={now.error} again={() => void startSession()} />
      </main>
    );
  }
  if (isOut && (isUnknown || (isOpen && route.isAlone !== true))) return <VisitorFrame />;
  if (route?.isAlone === true && now.phase !== 'asking') {
    return (
      <>
        <VisitorHeader />
        <main id="main" class="alone">
          <ScreenSlot user="" />
        </main>
        <Toasts />
      </>
    );
  }
  if (now.phase === 'asking' || now.phase === 'out') {
    return (
      <>
        <header class="top">
          <Brand />
        </header>
        <main>
          <Loading />
        </main>
      </>
    );
  }
  return <Frame user={now.user} isLost={now.phase === 'lost'} />;
}

interface FrameProps {
  readonly user: UserResource;
  readonly isLost: boolean;
}

function Frame({ user, isLost }: FrameProps) {
  const { id, email, organization } = user;
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  useLayoutEffect(() => addShortcuts(shellShortcuts(() => setHelpOpen(true))), []);
  useLayoutEffect(() => listenForPalette(() => setPaletteOpen(true)), []);
  useEffect(followVisits, []);
  // Where a write or a stream found the server away, no other read may be repeated until it is back. This one is, and no cache answers it.
  useResource(isOffline.value ? 'reach' : null, (signal) => api.me({ signal }), { freshMs: 0 });
  return (
    <>
      <a class="skip" href="#main">
        {t('nav.skip')}
      </a>
      <TopBar
        email={email}
        organization={organization?.name}
        onHelp={() => setHelpOpen(true)}
        onPalette={() => setPaletteOpen(true)}
      />
      <Nav />
      {isOffline.value ? (
        <div class="offline" role="status">
          {t('shell.offline')}
        </div>
      ) : null}
      <main id="main">
        <PasskeyOffer user={id} />
        <ScreenSlot user={identityOf(user)} />
      </main>
      <Toasts />
      {isPaletteOpen ? (
        <Palette onClose={() => setPaletteOpen(false)} onHelp={() => setHelpOpen(true)} />
      ) : null}
      {isHelpOpen ? <HelpDialog onClose={() => setHelpOpen(false)} /> : null}
      {isLost ? (
        <Dialog title={t('signIn.title')} canClose={false} onClose={() => undefined}>
          <p>{t('signIn.again')}</p>
          <SignInForm address={email} onSignedIn={signedIn} />
        </Dialog>
      ) : null}
    </>
  );
}

interface TopBarProps {
  readonly email: string;
  /** That the session acts for. */
  readonly organization: string | undefined;
  readonly onHelp: () => void;
  readonly onPalette: () => void;
}

function TopBar({ email, organization, onHelp, onPalette }: TopBarProps) {
  return (
    <header class="top">
      <Brand />
      <span class="grow" />
      <button type="button" class="button top-search" onClick={onPalette}>
        <Icon of={SearchIcon} /> <span>{t('shell.palette')}</span> <kbd class="wide-only">Ctrl K</kbd>
      </button>
      <span class="grow" />
      <ThemeButton />
      <Button tone="quiet" label={t('shell.help')} title={t('shell.help')} onClick={onHelp}>
        <Icon of={HelpIcon} />
      </Button>
      {organization === undefined ? null : (
        <a class="button quiet" href="/organization" aria-label={organization} title={organization}>
          <Icon of={OrganizationIcon} /> <span class="wide-only">{shortName(organization)}</span>
        </a>
      )}
      <a class="button quiet" href="/account">
        <Icon of={AccountIcon} /> <span>{email}</span>
      </a>
    </header>
  );
}

/** Letters of the name of an organization in the bar. */
const NAME_MAX = 24;

function shortName(name: string): string {
  const letters = Array.from(name);
  return letters.length > NAME_MAX ? `${letters.slice(0, NAME_MAX).join('')}…` : name;
}

/** Ctrl-K, also while typing; not over another dialog. */
function listenForPalette(open: () => void): () => void {
  const onKey = (event: KeyboardEvent): void => {
    if (
      event.key.toLowerCase() !== 'k' ||
      !(event.ctrlKey || event.metaKey) ||
      event.altKey ||
      event.shiftKey
    )
      return;
    event.preventDefault();
    if (document.querySelector('dialog:modal') === null) open();
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}

function shellShortcuts(onHelp: () => void): Shortcut[] {
  const go = NAV_LINKS.map(
    ({ path, text, key }): Shortcut => ({ keys: `g ${key}`, text, run: () => navigate(path) }),
  );
  return [...go, { keys: '?', text: 'shortcuts.help', run: onHelp }];
}
