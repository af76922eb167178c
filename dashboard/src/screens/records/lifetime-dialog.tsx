import { useState } from 'preact/hooks';
import type { Meta, NewRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import { useAction } from '../../data/use-action.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { limitsOf } from './record-rules.ts';

type Choice = 'keep' | 'never' | 'hours' | 'days';
const SECONDS = { hours: 3600, days: 86_400 } as const;

export interface LifetimeDialogProps {
  readonly meta: Meta;
  /** Reads the records; the confirmation comes after it. */
  readonly onChosen: (parts: Partial<NewRecord>) => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for a hint and a lifetime that many records shall have. */
export function LifetimeDialog({ meta, onChosen, onClose }: LifetimeDialogProps) {
  const [ttl, setTtl] = useState('');
  const [expiry, setExpiry] = useState<Choice>('keep');
  const [amount, setAmount] = useState('1');
  const { isBusy, error, run } = useAction();
  const limit = limitsOf(meta.limits).ttl;
  const isTtlGood = ttl === '' || (/^[0-9]{1,10}$/.test(ttl) && Number(ttl) <= limit);
  const isAmountGood = /^[1-9][0-9]{0,5}$/.test(amount);
  const isTimed = expiry === 'hours' || expiry === 'days';
  const isNothing = ttl === '' && expiry === 'keep';
  const isGood = isTtlGood && (!isTimed || isAmountGood) && !isNothing;
  const choose = async (): Promise<void> => {
    const expires = isTimed ? Number(amount) * SECONDS[expiry] : 0;
    await onChosen({
      ...(ttl !== '' && { ttl_seconds: Number(ttl) }),
      ...(expiry !== 'keep' && { expires_in: expires }),
    });
  };
  return (
    <Dialog title={t('records.setLifetime')} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isGood) run(choose);
        }}
      >
        <TextField
          label={t('records.ttl')}
          value={ttl}
          onInput={setTtl}
          inputMode="numeric"
          help={t('records.ttlKeep')}
          error={isTtlGood ? null : t('records.faultFilter')}
        />
        <Select<Choice>
          label={t('records.expires')}
          value={expiry}
          options={[
            { value: 'keep', text: t('records.keep') },
            { value: 'never', text: t('records.never') },
            { value: 'hours', text: t('records.hours') },
            { value: 'days', text: t('records.days') },
          ]}
          onChange={setExpiry}
        />
        {isTimed ? (
          <TextField
            label={t('records.amount')}
            value={amount}
            onInput={setAmount}
            inputMode="numeric"
            error={isAmountGood ? null : t('records.faultFilter')}
          />
        ) : null}
        {error === undefined ? null : <ErrorNote error={error} />}
        <div class="actions">
          <Button onClick={onClose}>{t('ui.cancel')}</Button>
          <Button type="submit" tone="primary" isBusy={isBusy} isDisabled={isNothing}>
            {t('records.next')}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
