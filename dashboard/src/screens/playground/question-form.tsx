import { useState } from 'preact/hooks';
import type { Endpoint } from '../../../../sdk/src/uqrp-sdk.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { Select, Switch, TextField } from '../../ui/field.tsx';
import type { TransportChoice } from './asked.ts';
import { Builder } from './builder.tsx';
import { hasTokenLabel, type MaskedName, maskName } from './masked-name.ts';
import { NameParts } from './name-parts-view.tsx';
import { ServiceForm } from './service-form.tsx';
import { snippetsOf, TYPES } from './snippets.ts';

export interface Question {
  readonly masked: MaskedName;
  readonly type: string;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
  readonly transport: TransportChoice;
}

export interface QuestionFormProps {
  readonly question: Question;
  readonly zones: readonly string[];
  readonly dns: Endpoint | null;
  readonly isBusy: boolean;
  readonly onChange: (question: Question) => void;
  readonly onAsk: (question: Question) => void;
}

/** The name, its parts, and how it is asked. */
export function QuestionForm(props: QuestionFormProps) {
  const { question, zones, dns, isBusy, onChange, onAsk } = props;
  const { masked, type, dnssecOk, checkingDisabled, transport } = question;
  const [help, setHelp] = useState<'none' | 'builder' | 'service'>('none');
  const isSecret = hasTokenLabel(masked.name);
  const onName = (name: string): void => onChange({ ...question, masked: { ...masked, name } });
  // What is typed stays as it is until the field is left; then a token in it is hidden.
  const onLeave = (): void => onChange({ ...question, masked: maskName(masked.name, masked.token) });
  const shown = maskName(masked.name, masked.token).name;
  return (
    <form
      class="stack card"
      onSubmit={(event) => {
        event.preventDefault();
        onAsk({ ...question, transport: isSecret ? 'POST' : transport });
      }}
    >
      <div onFocusOut={onLeave}>
        <TextField label={t('playground.name')} value={masked.name} onInput={onName} isCode isRequired />
      </div>
      <NameParts name={shown} zones={zones} />
      <div class="bar">
        <Select
          label={t('playground.type')}
          value={type}
          options={TYPES.map((one) => ({ value: one, text: one }))}
          onChange={(value) => onChange({ ...question, type: value })}
        />
        <Select
          label={t('playground.transport')}
          value={isSecret ? 'POST' : transport}
          isDisabled={isSecret}
          options={(['POST', 'GET', 'JSON'] as const).map((value) => ({
            value,
            text: t(`playground.transport${value}`),
          }))}
          onChange={(value) => onChange({ ...question, transport: value })}
        />
        <Switch
          label={t('playground.do')}
          isChecked={dnssecOk}
          onChange={(isChecked) => onChange({ ...question, dnssecOk: isChecked })}
        />
        <Switch
          label={t('playground.cd')}
          isChecked={checkingDisabled}
          onChange={(isChecked) => onChange({ ...question, checkingDisabled: isChecked })}
        />
      </div>
      <p class="field-help">{t(isSecret ? 'playground.secret' : 'playground.noUdp')}</p>
      <div class="actions">
        <Button type="submit" tone="primary" isBusy={isBusy}>
          {t('playground.ask')}
        </Button>
        <CopyAs
          variants={snippetsOf(
            { name: shown, type, dnssecOk, checkingDisabled },
            { dns, origin: location.origin },
          )}
        />
        <Button
          isPressed={help === 'builder'}
          onClick={() => setHelp(help === 'builder' ? 'none' : 'builder')}
        >
          {t('playground.builder')}
        </Button>
        <Button
          isPressed={help === 'service'}
          onClick={() => setHelp(help === 'service' ? 'none' : 'service')}
        >
          {t('playground.services')}
        </Button>
      </div>
      {help === 'builder' ? (
        <Builder
          masked={masked}
          zones={zones}
          onBuilt={(built) => onChange({ ...question, masked: built })}
        />
      ) : null}
      {help === 'service' ? <ServiceForm zone={zones[0] ?? ''} onName={onName} /> : null}
    </form>
  );
}
