import { useState } from 'preact/hooks';
import { t } from '../../text/text.ts';
import { KeyFields, type KeyParts, labelsOf } from '../playground/key-fields.tsx';
import { keyParts } from './record-rules.ts';

export interface KeyBuilderProps {
  /** The key as it is in the form. */
  readonly value: string;
  readonly namespaces: readonly string[];
  readonly onBuilt: (key: string) => void;
}

/** Base64 depends on case, which keys do not keep. */
const ENCODINGS = ['plain', 'b32', 'hex'] as const;

/** A form with a field for each part of a key. What is typed into the key itself shows in them too. */
export function KeyBuilder({ value, namespaces, onBuilt }: KeyBuilderProps) {
  const [held, setHeld] = useState<KeyParts | null>(null);
  // An encoded label does not say what text it was made of: the parts are kept while they make this key.
  const parts = held !== null && keyOf(held) === value ? held : partsOf(value);
  return (
    <KeyFields
      label={t('records.builder')}
      parts={parts}
      encodings={ENCODINGS}
      namespaces={namespaces}
      onChange={(changes) => {
        const next = { ...parts, ...changes };
        setHeld(next);
        onBuilt(keyOf(next));
      }}
    />
  );
}

function partsOf(key: string): KeyParts {
  const { params, ...rest } = keyParts(key);
  const texts = params === '' ? [] : params.split('.');
  return { ...rest, params: texts.map((text) => ({ text, encoding: 'plain' })) };
}

function keyOf({ params, resource, namespace, version }: KeyParts): string {
  return [...labelsOf(params), resource, namespace, version].join('.');
}
