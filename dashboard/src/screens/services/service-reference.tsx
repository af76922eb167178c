import { ttlText } from '../../front/answer-panel.tsx';
import { t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import type { FieldDescription, ServiceFacts, ServicePage } from './service-data.ts';

export interface ServiceReferenceProps {
  readonly page: ServicePage;
  readonly meanings: ServiceFacts['meanings'];
  /** Sources of the data and their licences; null: it is computed here. */
  readonly credits: string | null;
}

/** What the fields of an answer mean, its errors, and how long it may be kept. */
export function ServiceReference({ page, meanings, credits }: ServiceReferenceProps) {
  const { schema, dns_format, error_responses, meta } = page;
  const required = new Set(schema.required);
  return (
    <>
      <section class="stack" aria-labelledby="fields">
        <h2 id="fields">{t('services.fields')}</h2>
        <div class="service-table" role="group" aria-label={t('services.fields')} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t('services.field')}</th>
                <th scope="col">{t('services.type')}</th>
                <th scope="col">{t('services.meaning')}</th>
                <th scope="col">{t('services.example')}</th>
              </tr>
            </thead>
            <tbody>
              {Object.entries(schema.properties).map(([name, field]) => (
                <tr key={name}>
                  <th scope="row" class="code">
                    {name}
                  </th>
                  <td>
                    {typeOf(field)}
                    {required.has(name) ? null : <span class="dim"> {t('services.optional')}</span>}
                  </td>
                  <td>
                    {field.description}
                    <Closed field={field} meanings={meaningsOf(name, meanings)} />
                  </td>
                  <td class="code wrap">{field.example}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {meanings.map(({ kind, fields, values }) => (
          <details key={`${kind} ${fields.join()}`} open>
            <summary>
              {t('services.values', { fields: fields.join(', ') })}
              {kind === undefined ? '' : `: ${kind}`}
            </summary>
            <dl class="service-values">
              {values.map(([value, meaning]) => (
                <div key={value}>
                  <dt class="code">{value}</dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </details>
        ))}
        <CodeBlock code={dns_format.example_response} label={t('services.answerForm')} language="text" />
      </section>
      <section class="stack" aria-labelledby="errors">
        <h2 id="errors">{t('services.errors')}</h2>
        <dl class="service-values wide">
          {error_responses.map(({ code, status, description }) => (
            <div key={code}>
              <dt class="code">
                {code} {status}
              </dt>
              <dd>{description}</dd>
            </div>
          ))}
        </dl>
      </section>
      <section class="stack" aria-labelledby="good-to-know">
        <h2 id="good-to-know">{t('services.know')}</h2>
        <dl class="service-values wide">
          <div>
            <dt>{t('services.cached')}</dt>
            <dd>{ttlText(meta.default_ttl)}</dd>
          </div>
          <div>
            <dt>{t('services.sources')}</dt>
            <dd>{credits ?? t('services.computed')}</dd>
          </div>
        </dl>
      </section>
    </>
  );
}

function typeOf({ type, minimum, maximum }: FieldDescription): string {
  if (minimum === undefined || maximum === undefined) return type;
  return t('services.between', { type, minimum, maximum });
}

/** Values with words of their own are listed below the table. */
function meaningsOf(name: string, meanings: ServiceFacts['meanings']): boolean {
  return meanings.some(({ fields }) => fields.includes(name));
}

function Closed({ field, meanings }: { readonly field: FieldDescription; readonly meanings: boolean }) {
  if (field.enum === undefined || meanings) return null;
  return <span class="service-enum code">{field.enum.join(', ')}</span>;
}
