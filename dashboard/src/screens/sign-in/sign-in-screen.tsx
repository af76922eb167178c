import { useEffect } from 'preact/hooks';
import { useMeta } from '../../app/meta.ts';
import { offerPasskey } from '../../app/passkey-offer.tsx';
import { navigate, place } from '../../app/router.ts';
import { session, signedIn } from '../../app/session.ts';
import { t } from '../../text/text.ts';
import { Page } from '../../ui/page.tsx';
import { nextPage } from './next-page.ts';
import { SignInForm } from './sign-in-form.tsx';

export function SignInScreen() {
  const next = nextPage(place.value.query.get('next'), location.origin);
  const isIn = session.value.phase === 'in';
  useEffect(() => {
    if (isIn) navigate(next, { replace: true });
  }, [isIn, next]);
  return (
    <Page title={t('signIn.title')}>
      <p>{t('signIn.intro')}</p>
      <p class="dim">{t('signIn.fresh')}</p>
      <OtherOrigin />
      <SignInForm
        onSignedIn={(user, method) => {
          signedIn(user);
          // A failure of this offer is no failure of the sign-in.
          if (method === 'code') offerPasskey(user.id).catch(() => undefined);
        }}
      />
    </Page>
  );
}

/** A session holds only at the origin that the server was given, so that people see it before they ask for a code. */
function OtherOrigin() {
  const meta = useMeta();
  if (meta.value === undefined) return null;
  const { origin } = new URL(meta.value.endpoints.rest);
  if (origin === location.origin) return null;
  return (
    <p class="note bad" role="alert">
      {t('signIn.otherOrigin', { here: location.origin })} <a href={origin}>{origin}</a>
    </p>
  );
}
