import { t } from '../../text/text.ts';
import type { Field } from './fields.ts';
import { Marked } from './rich-text.tsx';

export interface FieldTableProps {
  /** Accessible name. */
  readonly label: string;
  readonly fields: readonly Field[];
}

/** Names, types and meanings of parameters or of the members of a body. */
export function FieldTable({ label, fields }: FieldTableProps) {
  if (fields.length === 0) return null;
  return (
    <ul class="api-fields" aria-label={label}>
      {fields.map(({ name, type, isRequired, description }) => (
        <li key={name}>
          <p>
            <code class="api-field">{name}</code> <span class="dim">{type}</span>
            {isRequired ? <strong class="api-required"> {t('api.required')}</strong> : null}
          </p>
          {description === '' ? null : (
            <p>
              <Marked text={description} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
