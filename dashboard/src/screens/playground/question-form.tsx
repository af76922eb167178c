import { useRef, useState } from 'preact/hooks';
import type { Endpoint } from '../../../../sdk/src/uqrp-sdk.ts';
import { hasTokenLabel, type MaskedName, maskName } from '../../format/masked-name.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { Select, Switch, TextField } from '../../ui/field.tsx';
import { lazy } from '../../ui/lazy.tsx';
import type { TransportChoice } from './asked.ts';
import { NameParts } from './name-parts-view.tsx';
import { snippetsOf, TYPES } from './snippets.ts';

const Builder = lazy(async () => (await import('./builder.tsx')).Builder);
const ServiceForm = lazy(async () => (await import('./service-form.tsx')).ServiceForm);

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
  readonly asksWhileTyping: boolean;
  readonly onAsksWhileTyping: (isOn: boolean) => void;
  readonly onChange: (question: Question) => void;
  readonly onAsk: (question: Question) => void;
}

/** The name, its parts, and how it is asked. */
export function QuestionForm(props: QuestionFormProps) {
  const { question, zones, dns, isBusy, onChange, onAsk } = props;
  const { masked, type, dnssecOk, checkingDisabled } = question;
  const [help, setHelp] = useState<'none' | 'builder' | 'service'>('none');
  const input = useRef<HTMLInputElement>(null);
  const isSecret = hasTokenLabel(masked.name);
  const onName = (name: string): void => onChange({ ...question, masked: { ...masked, name } });
  // What is typed stays as it is until the field is left; then a token in it is hidden.
  const onLeave = (): void => onChange({ ...question, masked: maskName(masked.name, masked.token) });
  const shown = maskName(masked.name, masked.token).name;
  const choosePart = (from: number, to: number): void => {
    input.current?.focus();
    input.current?.setSelectionRange(from, to);
  };
  const toggle = (wanted: 'builder' | 'service'): void => setHelp(help === wanted ? 'none' : wanted);
  return (
    <form
      class="question card"
      onSubmit={(event) => {
        event.preventDefault();
        onAsk(question);
      }}
    >
      <div onFocusOut={onLeave}>
        <TextField
          label={t('playground.name')}
          value={masked.name}
          onInput={onName}
          inputRef={input}
          isCode
          isRequired
        />
      </div>
      <NameParts name={shown} zones={zones} onChoose={choosePart} />
      <div class="actions">
        <Button isPressed={help === 'service'} onClick={() => toggle('service')}>
          {t('playground.services')}
        </Button>
        <Button isPressed={help === 'builder'} onClick={() => toggle('builder')}>
          {t('playground.builder')}
        </Button>
        <CopyAs
          variants={snippetsOf(
            { name: shown, type, dnssecOk, checkingDisabled },
            { dns, origin: location.origin },
          )}
        />
      </div>
      {help === 'builder' ? (
        <Builder
          masked={masked}
          zones={zones}
          onBuilt={(built) => onChange({ ...question, masked: built })}
        />
      ) : null}
      {help === 'service' ? <ServiceForm zone={zones[0] ?? ''} onName={onName} /> : null}
      <Options {...props} isSecret={isSecret} />
      <div class="ask-bar">
        <Select
          label={t('playground.type')}
          value={type}
          options={TYPES.map((one) => ({ value: one, text: one }))}
          onChange={(value) => onChange({ ...question, type: value })}
        />
        <Button type="submit" tone="primary" isBusy={isBusy}>
          {t('playground.ask')}
        </Button>
      </div>
    </form>
  );
}

/** How it is asked. Folded, because most people leave it as it is. */
function Options(props: QuestionFormProps & { readonly isSecret: boolean }) {
  const { question, isSecret, onChange } = props;
  const { transport, dnssecOk, checkingDisabled } = question;
  return (
    <>
      <details class="options">
        <summary>{t('playground.options')}</summary>
        <div class="stack">
          <Select
            label={t('playground.transport')}
            value={isSecret ? 'POST' : transport}
            isDisabled={isSecret}
            help={t('playground.noUdp')}
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
          <Switch
            label={t('playground.whileTyping')}
            isChecked={props.asksWhileTyping}
            onChange={props.onAsksWhileTyping}
          />
        </div>
      </details>
      {isSecret ? <p class="field-help">{t('playground.secret')}</p> : null}
    </>
  );
}
