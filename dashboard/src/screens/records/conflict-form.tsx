import { useState } from 'preact/hooks';
import { bytesOf } from '../../../../sdk/src/uqrp-sdk.ts';
import { dateTime } from '../../format/format.ts';
import { visibleLine } from '../../format/visible-text.ts';
import { t } from '../../text/text.ts';
import { DialogForm } from '../../ui/dialog-form.tsx';
import { utf8 } from './payload.ts';
import { differences, type Editable, type EditableField, merged, type Side } from './three-way.ts';

export interface ConflictFormProps {
  /** What both began with. */
  readonly base: Editable;
  readonly mine: Editable;
  /** What is stored now. */
  readonly theirs: Editable;
  readonly onSave: (merged: Editable) => Promise<unknown>;
  readonly onBack: () => void;
  /** The record was there before the form was opened: there is no common begin. */
  readonly isOlder?: boolean;
}

/** Somebody else saved first: what each changed, side by side, and a choice where both changed the same field. */
export function ConflictForm({ base, mine, theirs, onSave, onBack, isOlder = false }: ConflictFormProps) {
  const [choices, setChoices] = useState<ReadonlyMap<EditableField, Side>>(new Map());
  const found = differences(base, mine, theirs);
  return (
    <DialogForm
      submit={t('records.saveMerged')}
      cancel={t('records.keepEditing')}
      onCancel={onBack}
      onSubmit={() => onSave(merged(base, mine, theirs, choices))}
    >
      <p role="alert" class="note warn">
        {t(isOlder ? 'records.exists' : 'records.conflict')}
      </p>
      <div class="scroll">
        <table class="plain-table">
          <thead>
            <tr>
              <th scope="col">{t('records.field')}</th>
              {isOlder ? null : <th scope="col">{t('records.before')}</th>}
              <th scope="col">{t('records.mine')}</th>
              <th scope="col">{t(isOlder ? 'records.stored' : 'records.theirs')}</th>
            </tr>
          </thead>
          <tbody>
            {found.map(({ field, by }) => {
              const side = choices.get(field) ?? (by === 'theirs' ? 'theirs' : 'mine');
              const choose = (to: Side): void => setChoices(new Map(choices).set(field, to));
              const cell = (of: Side, text: string) => (
                <td>
                  <label class="tick">
                    <input
                      type="radio"
                      name={field}
                      checked={side === of}
                      onChange={() => choose(of)}
                      aria-label={`${t(`records.field_${field}`)}: ${t(`records.${of}`)}`}
                    />
                    <span class="code wrap">{text}</span>
                  </label>
                </td>
              );
              return (
                <tr key={field}>
                  <th scope="row">{t(`records.field_${field}`)}</th>
                  {isOlder ? null : <td class="code wrap">{shown(field, base)}</td>}
                  {cell('mine', shown(field, mine))}
                  {cell('theirs', shown(field, theirs))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </DialogForm>
  );
}

const SHOWN_MAX = 400;

function shown(field: EditableField, value: Editable): string {
  if (field === 'expires_at')
    return value.expires_at === null ? t('records.never') : dateTime(value.expires_at);
  const text = field === 'data' ? visibleLine(utf8(bytesOf(value)) ?? value.data) : String(value[field]);
  if (text === '') return t('records.nothing');
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}
