import { useState } from 'preact/hooks';
import { api } from '../../app/client.ts';
import { signedOut, signOut } from '../../app/session.ts';
import { invalidate, useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Time } from '../../ui/time.tsx';

const METHODS = { code: 'account.byCode', passkey: 'account.byPasskey', cli: 'account.byCommand' } as const;

/** Where the account is signed in. */
export function SessionsCard() {
  const sessions = useResource('sessions', (signal) => api.sessions.list({ signal }));
  const [error, setError] = useState<unknown>(undefined);
  const [isEndingAll, setEndingAll] = useState(false);
  const run = (act: () => Promise<void>): void => {
    setError(undefined);
    act().catch(setError);
  };
  return (
    <section class="card stack" aria-labelledby="sessions">
      <h2 id="sessions">{t('account.sessions')}</h2>
      {sessions.state === 'loading' ? <Loading /> : null}
      {sessions.state === 'failed' ? <ErrorNote error={sessions.error} again={sessions.again} /> : null}
      {sessions.state === 'ready' ? (
        <ul class="lines">
          {sessions.value.map((session) => (
            <li key={session.id}>
              <span>
                <strong>{t(METHODS[session.method])}</strong>{' '}
                {session.current ? <Badge tone="good" text={t('account.thisSession')} /> : null}
                <br />
                <span class="dim">
                  {t('account.began')} <Time at={session.created_at} />, {t('account.ends')}{' '}
                  <Time at={session.expires_at} />
                </span>
              </span>
              {session.current ? null : (
                <Button
                  label={t('account.endOne', { method: t(METHODS[session.method]) })}
                  onClick={() =>
                    run(async () => {
                      await api.sessions.end(session.id);
                      invalidate('sessions');
                    })
                  }
                >
                  {t('account.end')}
                </Button>
              )}
            </li>
          ))}
        </ul>
      ) : null}
      {error === undefined ? null : <ErrorNote error={error} />}
      <div class="actions">
        <Button onClick={() => run(signOut)}>{t('shell.signOut')}</Button>
        <Button onClick={() => setEndingAll(true)}>{t('account.endAll')}</Button>
      </div>
      {isEndingAll ? (
        <ConfirmDialog
          title={t('account.endAll')}
          confirm={t('account.endAllConfirm')}
          onConfirm={async () => {
            await api.sessions.endAll();
            signedOut();
          }}
          onClose={() => setEndingAll(false)}
        >
          <p>{t('account.endAllText')}</p>
        </ConfirmDialog>
      ) : null}
    </section>
  );
}
