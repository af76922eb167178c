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
    <div class="api-table" role="group" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('api.field')}</th>
            <th scope="col">{t('api.type')}</th>
            <th scope="col">{t('api.meaning')}</th>
          </tr>
        </thead>
        <tbody>
          {fields.map(({ name, type, isRequired, description }) => (
            <tr key={name}>
              <th scope="row" class="code">
                {name}
              </th>
              <td>
                {type}
                {isRequired ? <strong>, {t('api.required')}</strong> : null}
              </td>
              <td>
                <Marked text={description} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
