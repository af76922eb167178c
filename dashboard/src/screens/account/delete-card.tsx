import { useState } from 'preact/hooks';
import { api } from '../../app/client.ts';
import { signedOut, useUser } from '../../app/session.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { toast } from '../../ui/toast.tsx';

/** The end of the account. */
export function DeleteCard() {
  const user = useUser();
  const [isOpen, setOpen] = useState(false);
  return (
    <section class="card stack" aria-labelledby="delete-account">
      <h2 id="delete-account">{t('account.deleteTitle')}</h2>
      <p>{t('account.deleteText')}</p>
      <div class="actions">
        <Button tone="danger" onClick={() => setOpen(true)}>
          {t('account.deleteTitle')}
        </Button>
      </div>
      {isOpen ? (
        <ConfirmDialog
          title={t('account.deleteTitle')}
          typed={user.email}
          onConfirm={async () => {
            await api.deleteAccount(user.email);
            signedOut();
            toast(t('account.deleted'));
          }}
          onClose={() => setOpen(false)}
        >
          <p>
            {/* In an organization the counts are of what stays. */}
            {user.organization !== undefined
              ? t('account.deleteOwn')
              : t('account.deleteWhat', {
                  records: count(user.records_count),
                  namespaces: count(user.namespaces_count),
                  keys: count(user.api_keys_count),
                })}
          </p>
        </ConfirmDialog>
      ) : null}
    </section>
  );
}
