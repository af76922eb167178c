import { useState } from 'preact/hooks';
import type { PasskeyResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { invalidate, useResource } from '../../data/resource.ts';
import { useAction } from '../../data/use-action.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Time } from '../../ui/time.tsx';
import { toast } from '../../ui/toast.tsx';
import { addPasskey, canMakePasskeys } from './add-passkey.ts';

/** The ways in without a mail. */
export function PasskeysCard() {
  const passkeys = useResource('passkeys', (signal) => api.passkeys.list({ signal }));
  const { isBusy, error, run } = useAction();
  const [removing, setRemoving] = useState<PasskeyResource | null>(null);
  const add = async (): Promise<void> => {
    await addPasskey();
    toast(t('account.passkeyAdded'));
  };
  return (
    <section class="card stack" aria-labelledby="passkeys">
      <h2 id="passkeys">{t('account.passkeys')}</h2>
      <p class="dim">{t('account.passkeysText')}</p>
      {passkeys.state === 'loading' ? <Loading /> : null}
      {passkeys.state === 'failed' ? <ErrorNote error={passkeys.error} again={passkeys.again} /> : null}
      {passkeys.state === 'ready' && passkeys.value.length === 0 ? <p>{t('account.noPasskeys')}</p> : null}
      {passkeys.state === 'ready' && passkeys.value.length > 0 ? (
        <ul class="lines">
          {passkeys.value.map((passkey) => (
            <li key={passkey.id}>
              <span>
                <strong>{passkey.name}</strong>{' '}
                {passkey.backed_up ? <Badge text={t('account.backedUp')} /> : null}
                <br />
                <span class="dim">
                  {t('account.made')} <Time at={passkey.created_at} />,{' '}
                  {passkey.last_used_at === null ? (
                    t('account.neverUsed')
                  ) : (
                    <>
                      {t('account.lastUsed')} <Time at={passkey.last_used_at} />
                    </>
                  )}
                </span>
              </span>
              <Button
                label={t('account.removePasskey', { name: passkey.name })}
                onClick={() => setRemoving(passkey)}
              >
                {t('account.remove')}
              </Button>
            </li>
          ))}
        </ul>
      ) : null}
      {error === undefined ? null : <ErrorNote error={error} />}
      {canMakePasskeys() ? (
        <div class="actions">
          <Button onClick={() => run(add)} isBusy={isBusy}>
            {t('account.addPasskey')}
          </Button>
        </div>
      ) : (
        <p>{t('account.noPasskeysHere')}</p>
      )}
      {removing === null ? null : (
        <ConfirmDialog
          title={t('account.removeTitle', { name: removing.name })}
          confirm={t('account.remove')}
          onConfirm={async () => {
            await api.passkeys.delete(removing.id);
            invalidate('passkeys');
          }}
          onClose={() => setRemoving(null)}
        >
          <p>{t('account.removeText')}</p>
        </ConfirmDialog>
      )}
    </section>
  );
}
