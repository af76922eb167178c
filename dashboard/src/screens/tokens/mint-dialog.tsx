import { useRef, useState } from 'preact/hooks';
import type { MintedQueryToken, NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { useIsOwner } from '../../app/session.ts';
import { useDraft } from '../../data/drafts.ts';
import { createRepeatKeys } from '../../data/repeat-key.ts';
import { t } from '../../text/text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { DialogForm } from '../../ui/dialog-form.tsx';
import { TextField } from '../../ui/field.tsx';

export interface MintDialogProps {
  readonly namespace: NamespaceResource;
  readonly onMinted: (minted: MintedQueryToken) => void;
  readonly onClose: () => void;
}

/** Asks for the name and the days of a new query token. */
export function MintDialog({ namespace, onMinted, onClose }: MintDialogProps) {
  const { value: meta } = useMeta();
  const { query_token_days_max: most = 365, query_token_name: nameMax = 100 } = meta?.limits ?? {};
  const isOwner = useIsOwner();
  const longest = isOwner ? most : (meta?.limits.query_token_days_of_member ?? most);
  const draft = useDraft(`token ${namespace.id}`, {
    name: '',
    days: String(meta?.limits.query_token_days_default ?? 30),
  });
  const { name, days } = draft.value;
  const [wasTried, setTried] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const keys = useRef(createRepeatKeys());
  const areDaysGood = /^[0-9]{1,3}$/.test(days) && Number(days) >= 1 && Number(days) <= longest;
  const isNameGood = name.trim() !== '' && Array.from(name).length <= nameMax;
  const mint = async (): Promise<void> => {
    const token = { name, expires_in_days: Number(days) };
    onMinted(await api.queryTokens.mint(namespace.id, token, { idempotencyKey: keys.current(token) }));
  };
  return (
    <Dialog title={t('tokens.new')} canClose={!isBusy} onClose={onClose}>
      <DialogForm
        submit={t('tokens.create')}
        draft={draft}
        onBusy={setBusy}
        onSubmit={() => {
          setTried(true);
          return areDaysGood && isNameGood ? mint() : null;
        }}
        hasOwnChecks
      >
        <TextField
          label={t('tokens.name')}
          word="queryToken"
          value={name}
          onInput={(typed) => draft.change({ name: typed })}
          help={t('tokens.nameHelp')}
          error={wasTried && !isNameGood ? t('tokens.faultName', { max: nameMax }) : null}
          isRequired
          hasFocus
        />
        <TextField
          label={t('tokens.days')}
          type="number"
          min={1}
          max={longest}
          value={days}
          onInput={(typed) => draft.change({ days: typed })}
          help={isOwner ? undefined : t('tokens.daysOfMember', { max: longest })}
          error={areDaysGood ? null : t('tokens.faultDays', { max: longest })}
          isRequired
        />
      </DialogForm>
    </Dialog>
  );
}
