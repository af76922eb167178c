import type { ComponentChildren } from 'preact';
import { encodeParam, type ParamEncoding } from '../../../../src/protocol/query/params.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Select, TextField } from '../../ui/field.tsx';

export interface Param {
  readonly text: string;
  readonly encoding: ParamEncoding;
}

/** What a name and the key of a record have in common. */
export interface KeyParts {
  readonly params: readonly Param[];
  readonly resource: string;
  readonly namespace: string;
  readonly version: string;
}

export interface KeyFieldsProps {
  /** Accessible name. */
  readonly label: string;
  readonly parts: KeyParts;
  readonly encodings: readonly ParamEncoding[];
  /** To choose from; without them any name can be typed. */
  readonly namespaces?: readonly string[];
  readonly fault?: string | null;
  /** Fields before these. */
  readonly before?: ComponentChildren;
  /** Fields after these. */
  readonly children?: ComponentChildren;
  readonly onChange: (changes: Partial<KeyParts>) => void;
}

const FIELD_TEXTS = {
  resource: { label: 'playground.partResource', rule: 'playground.ruleResource' },
  namespace: { label: 'playground.partNamespace', rule: 'playground.ruleNamespace' },
  version: { label: 'playground.partVersion', rule: 'playground.ruleVersion' },
} as const;

/** Labels of the params; an empty one for a text that does not fit into a label. */
export function labelsOf(params: readonly Param[]): readonly string[] {
  return params.map(({ text, encoding }) => encodeParam(text, encoding) ?? '');
}

/** A field for each part of a key, each with its rule. */
export function KeyFields(props: KeyFieldsProps) {
  const { parts, encodings, namespaces, fault, onChange } = props;
  const { params } = parts;
  const changeParam = (at: number, changes: Partial<Param>): void =>
    onChange({ params: params.map((param, index) => (index === at ? { ...param, ...changes } : param)) });
  return (
    <fieldset class="builder stack" aria-label={props.label}>
      <div class="cards">
        {props.before}
        {params.map((param, at) => (
          <div key={at} class="stack">
            <TextField
              label={`${t('playground.partParam')} ${at + 1}`}
              help={t('playground.ruleParam')}
              error={encodeParam(param.text, param.encoding) === null ? t('playground.notALabel') : null}
              value={param.text}
              onInput={(text) => changeParam(at, { text })}
              isCode
            />
            <Select
              label={`${t('playground.encoding')} ${at + 1}`}
              help={param.encoding === 'b64' ? t('playground.warnB64') : undefined}
              value={param.encoding}
              options={encodings.map((value) => ({ value, text: value === 'plain' ? value : `${value}-` }))}
              onChange={(encoding) => changeParam(at, { encoding })}
            />
            <Button
              label={`${t('playground.removeParam')} ${at + 1}`}
              onClick={() => onChange({ params: params.filter((_, index) => index !== at) })}
            >
              {t('playground.removeParam')}
            </Button>
          </div>
        ))}
        {(['resource', 'namespace', 'version'] as const).map((field) => {
          const label = t(FIELD_TEXTS[field].label);
          const value = parts[field];
          if (field !== 'namespace' || namespaces === undefined || namespaces.length === 0) {
            return (
              <TextField
                key={field}
                label={label}
                help={t(FIELD_TEXTS[field].rule)}
                value={value}
                onInput={(typed) => onChange({ [field]: typed })}
                isCode
              />
            );
          }
          const names = namespaces.includes(value) ? namespaces : [value, ...namespaces];
          return (
            <Select
              key={field}
              label={label}
              value={value}
              options={names.map((name) => ({ value: name, text: name }))}
              onChange={(chosen) => onChange({ namespace: chosen })}
            />
          );
        })}
        {props.children}
      </div>
      {fault === null || fault === undefined ? null : <p class="field-error">{fault}</p>}
      <div class="actions">
        <Button onClick={() => onChange({ params: [...params, { text: 'a', encoding: 'plain' }] })}>
          {t('playground.addParam')}
        </Button>
      </div>
    </fieldset>
  );
}
