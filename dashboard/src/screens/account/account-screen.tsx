import { useEffect } from 'preact/hooks';
import { useMeta } from '../../app/meta.ts';
import { refreshUser, useIsOwner, useUser } from '../../app/session.ts';
import { t } from '../../text/text.ts';
import { Page } from '../../ui/page.tsx';
import { DeleteCard } from './delete-card.tsx';
import { PasskeysCard } from './passkeys-card.tsx';
import { SessionsCard } from './sessions-card.tsx';
import { SettingsCard } from './settings-card.tsx';

export function AccountScreen() {
  const { email } = useUser();
  const { value: meta } = useMeta();
  const isOwner = useIsOwner();
  // The counts in the question before the deletion are those of now.
  useEffect(() => {
    refreshUser().catch(() => undefined);
  }, []);
  return (
    <Page title={t('account.title')}>
      <p>{t('account.signedIn', { email })}</p>
      <div class="cards wide-cards">
        {meta?.features.passkeys === false ? null : <PasskeysCard />}
        <SessionsCard />
        <section class="card stack" aria-labelledby="audit">
          <h2 id="audit">{t('audit.title')}</h2>
          <p>{t(isOwner ? 'audit.text' : 'audit.ownersOnly')}</p>
          {isOwner ? (
            <div class="actions">
              <a class="button" href="/audit">
                {t('audit.open')}
              </a>
            </div>
          ) : null}
        </section>
        <SettingsCard />
        <DeleteCard />
      </div>
    </Page>
  );
}
