import { useRef, useState } from 'preact/hooks';
import type { MintedQueryToken, NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { createRepeatKeys } from '../../data/repeat-key.ts';
import { useAction } from '../../data/use-action.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';

export interface MintDialogProps {
  readonly namespace: NamespaceResource;
  readonly onMinted: (minted: MintedQueryToken) => void;
  readonly onClose: () => void;
}

/** Asks for the name and the days of a new query token. */
export function MintDialog({ namespace, onMinted, onClose }: MintDialogProps) {
  const { value: meta } = useMeta();
  const { query_token_days_max: longest = 365, query_token_name: nameMax = 100 } = meta?.limits ?? {};
  const [name, setName] = useState('');
  const [days, setDays] = useState(String(meta?.limits.query_token_days_default ?? 30));
  const [wasTried, setTried] = useState(false);
  const { isBusy, error, run } = useAction();
  const keys = useRef(createRepeatKeys());
  const areDaysGood = /^[0-9]{1,3}$/.test(days) && Number(days) >= 1 && Number(days) <= longest;
  const isNameGood = name.trim() !== '' && Array.from(name).length <= nameMax;
  const mint = async (): Promise<void> => {
    const token = { name, expires_in_days: Number(days) };
    onMinted(await api.queryTokens.mint(namespace.id, token, { idempotencyKey: keys.current(token) }));
  };
  return (
    <Dialog title={t('tokens.new')} canClose={!isBusy} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (areDaysGood && isNameGood) run(mint);
        }}
      >
        <TextField
          label={t('tokens.name')}
          value={name}
          onInput={setName}
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
          onInput={setDays}
          error={areDaysGood ? null : t('tokens.faultDays', { max: longest })}
          isRequired
        />
        {error === undefined ? null : <ErrorNote error={error} />}
        <div class="actions">
          <Button isDisabled={isBusy} onClick={onClose}>
            {t('ui.cancel')}
          </Button>
          <Button type="submit" tone="primary" isBusy={isBusy}>
            {t('tokens.create')}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
