import { useEffect, useState } from 'preact/hooks';
import { useMeta } from '../../app/meta.ts';
import { AnswerPanel, useQuestion } from '../../front/answer-panel.tsx';
import { Commands } from '../../front/commands.tsx';
import { LiveCard } from '../../front/live-card.tsx';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { placeholdersOf } from '../playground/service-template.ts';
import { threeExamples } from './examples.ts';
import { type ServiceFacts, type ServicePage, useServiceFacts, useServicePage } from './service-data.ts';
import { ServiceReference } from './service-reference.tsx';
import { filledName, personText, typedLabel } from './typed-label.ts';

export interface ServiceScreenProps {
  /** `name`: the service. */
  readonly params: Readonly<Record<string, string>>;
}

/** One public service: a form that asks it, what its fields mean, and examples. */
export function ServiceScreen({ params: { name = '' } }: ServiceScreenProps) {
  const { value: meta } = useMeta();
  const zone = meta?.zones[0] ?? null;
  const page = useServicePage(name, zone);
  const facts = useServiceFacts();
  if (page.state === 'failed') {
    return (
      <Page title={name}>
        <EmptyState title={t('services.unknown')} text={t('services.unknownText')}>
          <a class="button" href="/services">
            {t('services.all')}
          </a>
        </EmptyState>
      </Page>
    );
  }
  if (page.state === 'loading' || meta === undefined || facts.state === 'loading') return <Loading />;
  const { title, description } = page.value.schema;
  const [text = '', credits] = description.split(/ Data: (?=[^:]+)/);
  const of = facts.value?.[name] ?? { examples: [], meanings: [] };
  return (
    <Page title={title} actions={<a href="/services">{t('services.all')}</a>}>
      <p class="lead">{text}</p>
      <ServiceForm page={page.value} facts={of} zones={meta.zones} dns={meta.endpoints.dns} />
      <Examples service={name} names={threeExamples(of.examples, page.value.dns_format)} />
      <ServiceReference page={page.value} meanings={of.meanings} credits={credits ?? null} />
    </Page>
  );
}

interface ServiceFormProps {
  readonly page: ServicePage;
  readonly facts: ServiceFacts;
  readonly zones: readonly string[];
  readonly dns: { readonly host: string; readonly port: number } | null;
}

function ServiceForm({ page, facts, zones, dns }: ServiceFormProps) {
  const { resource, schema, dns_format } = page;
  const fields = placeholdersOf(dns_format);
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(fields.map(({ id, examples }) => [id, personText(resource, id, examples[0] ?? '')])),
  );
  const { state, ask } = useQuestion(zones);
  const name = nameOf(resource, dns_format.query_template, values);
  const [asked, setAsked] = useState(name ?? '');
  useEffect(() => {
    if (name !== null) ask(name);
  }, []);
  const meanings = new Map(facts.meanings.flatMap(({ values: all }) => all));
  /** Values of one kind, such as units of length, go together: the first field decides. */
  const kindOf = (value: string) =>
    facts.meanings.find(({ values: all }) => all.some(([each]) => each === value));
  const first =
    facts.meanings.length > 1 ? kindOf(values[facts.meanings[0]?.fields[0] ?? ''] ?? '') : undefined;
  const canBe = (id: string, value: string): boolean =>
    first === undefined || id === first.fields[0] || kindOf(value) === first;
  return (
    <div class="prompt-place">
      <div class="terminal-light">
        <form
          class="service-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (name === null) return;
            setAsked(name);
            ask(name);
          }}
        >
          {fields.length === 0 ? null : (
            <div class="service-fields">
              {fields.map(({ id, examples }) => {
                const { type = 'string' } = dns_format.placeholders[id] ?? {};
                const closed = schema.properties[id]?.enum?.filter((value) => canBe(id, String(value)));
                const onChange = (value: string): void => {
                  const next = { ...values, [id]: value };
                  const kind = kindOf(value);
                  // A unit of another kind takes its first other one along.
                  if (first !== undefined && kind !== first && kind !== undefined)
                    for (const field of kind.fields.slice(1))
                      next[field] = kind.values.find(([each]) => each !== value)?.[0] ?? value;
                  setValues(next);
                };
                const label = capital(id);
                return closed === undefined ? (
                  <TextField
                    key={id}
                    label={label}
                    value={values[id] ?? ''}
                    help={helpOf(
                      type,
                      examples.map((each) => personText(resource, id, each)),
                      examples,
                    )}
                    onInput={onChange}
                    isRequired={!type.includes('left out')}
                    isCode
                  />
                ) : (
                  <Select
                    key={id}
                    label={label}
                    value={values[id] ?? ''}
                    options={closed.map((value) => ({
                      value: String(value),
                      text: meanings.has(String(value))
                        ? `${value}: ${meanings.get(String(value))}`
                        : String(value),
                    }))}
                    onChange={onChange}
                  />
                );
              })}
            </div>
          )}
          <p class="service-name">
            {fields.length === 0 ? null : <span class="service-typed dim">{t('services.typed')}</span>}
            <code>{name ?? t('services.noName')}</code>
          </p>
          <Button type="submit" tone="primary" isDisabled={name === null}>
            {t('playground.ask')}
          </Button>
        </form>
        <AnswerPanel
          state={state}
          zones={zones}
          form={fields
            .map(({ id, examples: [example = ''] }) => `${capital(id)} ${personText(resource, id, example)}`)
            .join(' · ')}
        />
      </div>
      <Commands name={asked} dns={dns} />
    </div>
  );
}

/** Examples of a part of a name as people write them; its type where nothing has to be translated. */
function helpOf(type: string, shown: readonly string[], labels: readonly string[]): string {
  const some = t('services.suchAs', { examples: shown.join('; ') });
  const isTranslated = shown.some((text, at) => text !== labels[at]);
  return type === 'string' || isTranslated ? some : `${capital(type)}. ${some}`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Null where a value fits into no label. */
function nameOf(service: string, template: string, values: Readonly<Record<string, string>>): string | null {
  try {
    const labels = Object.entries(values).map(([id, text]) => [id, typedLabel(service, id, text)] as const);
    return filledName(template, Object.fromEntries(labels));
  } catch {
    return null;
  }
}

function Examples({ service, names }: { readonly service: string; readonly names: readonly string[] }) {
  return (
    <section class="stack" aria-labelledby="examples">
      <h2 id="examples">{t('services.examples')}</h2>
      <ul class="live examples" aria-label={t('services.examples')}>
        {names.map((name) => (
          <LiveCard key={name} service={service} name={name} href={`/playground?name=${name}`} canAsk />
        ))}
      </ul>
    </section>
  );
}
