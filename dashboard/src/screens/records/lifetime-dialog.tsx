import type { Meta, NewRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import { useDraft } from '../../data/drafts.ts';
import { t } from '../../text/text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { DialogForm } from '../../ui/dialog-form.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { limitsOf } from './record-rules.ts';

type Choice = 'keep' | 'never' | 'hours' | 'days';
const SECONDS = { hours: 3600, days: 86_400 } as const;

interface LifetimeDraft {
  readonly ttl: string;
  readonly expiry: Choice;
  readonly amount: string;
}

export interface LifetimeDialogProps {
  readonly meta: Meta;
  /** Reads the records; the confirmation comes after it. */
  readonly onChosen: (parts: Partial<NewRecord>) => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for a hint and a lifetime that many records shall have. */
export function LifetimeDialog({ meta, onChosen, onClose }: LifetimeDialogProps) {
  const draft = useDraft<LifetimeDraft>(null, { ttl: '', expiry: 'keep', amount: '1' });
  const { ttl, expiry, amount } = draft.value;
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
      <DialogForm
        submit={t('records.next')}
        draft={draft}
        isDisabled={isNothing}
        onSubmit={() => (isGood ? choose() : null)}
        hasOwnChecks
      >
        <TextField
          label={t('records.ttl')}
          value={ttl}
          onInput={(typed) => draft.change({ ttl: typed })}
          inputMode="numeric"
          help={t('records.ttlKeep')}
          hasFocus
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
          onChange={(chosen) => draft.change({ expiry: chosen })}
        />
        {isTimed ? (
          <TextField
            label={t('records.amount')}
            value={amount}
            onInput={(typed) => draft.change({ amount: typed })}
            inputMode="numeric"
            error={isAmountGood ? null : t('records.faultFilter')}
          />
        ) : null}
      </DialogForm>
    </Dialog>
  );
}
