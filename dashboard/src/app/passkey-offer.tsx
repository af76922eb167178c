/** After a sign-in by code: the next one may be by passkey. */
import { effect, signal } from '@preact/signals';
import { useAction } from '../data/use-action.ts';
import { addPasskey, canMakePasskeys } from '../screens/account/add-passkey.ts';
import { t } from '../text/text.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNote } from '../ui/error-note.tsx';
import { toast } from '../ui/toast.tsx';
import { api } from './client.ts';
import { session } from './session.ts';
import { readSetting, writeSetting } from './settings.ts';

/** The id of the user who gets the offer. */
const offeredTo = signal<string | null>(null);

// After a sign-out the offer would stand over the page of the next user.
effect(() => {
  const now = session.value;
  if (now.phase !== 'in' && now.phase !== 'lost') takeBackOffer();
});

/** Offers a passkey to a user who has none, unless this browser's user did not want one. */
export async function offerPasskey(userId: string): Promise<void> {
  if (!canMakePasskeys() || readSetting('passkey-offer') === 'no') return;
  const { features } = await api.meta();
  if (!features.passkeys) return;
  if ((await api.passkeys.list()).length === 0) offeredTo.value = userId;
}

function takeBackOffer(): void {
  offeredTo.value = null;
}

/** The button that had the focus goes with the offer. */
function close(): void {
  takeBackOffer();
  document.querySelector('h1')?.focus();
}

/** A region above the screen: it does not keep anyone from working. */
export function PasskeyOffer({ user }: { readonly user: string }) {
  const { isBusy, error, run } = useAction();
  if (offeredTo.value !== user) return null;
  const add = async (): Promise<void> => {
    await addPasskey();
    close();
    toast(t('account.passkeyAdded'));
  };
  return (
    <section class="note offer" aria-label={t('signIn.offerTitle')}>
      <p>
        <strong>{t('signIn.offerTitle')}</strong> {t('signIn.offerText')}
      </p>
      {error === undefined ? null : <ErrorNote error={error} />}
      <div class="actions">
        <Button isBusy={isBusy} onClick={() => run(add)}>
          {t('signIn.offerAdd')}
        </Button>
        <Button
          tone="quiet"
          onClick={() => {
            writeSetting('passkey-offer', 'no');
            close();
          }}
        >
          {t('signIn.offerLater')}
        </Button>
      </div>
    </section>
  );
}
