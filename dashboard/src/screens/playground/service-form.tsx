import { useEffect, useState } from 'preact/hooks';
import { Reader, readServiceDocument } from '../../../../sdk/src/dns.ts';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { Loading } from '../../ui/loading.tsx';
import { filledTemplate, placeholdersOf } from './service-template.ts';

export interface ServiceFormProps {
  readonly zone: string;
  /** Takes the name that the form makes. */
  readonly onName: (name: string) => void;
}

/** A form for a public service, as the server describes it. */
export function ServiceForm({ zone, onName }: ServiceFormProps) {
  const services = useResource(`services ${zone}`, (signal) => listOf(zone, signal), { freshMs: 300_000 });
  const [chosen, setChosen] = useState('units');
  if (services.state === 'loading') return <Loading />;
  if (services.state === 'failed') return <ErrorNote error={services.error} again={services.again} />;
  return (
    <fieldset class="stack" aria-label={t('playground.services')}>
      <Select
        label={t('playground.service')}
        value={chosen}
        options={services.value.map((name) => ({ value: name, text: name }))}
        onChange={setChosen}
      />
      <Fields key={chosen} service={chosen} zone={zone} onName={onName} />
    </fieldset>
  );
}

async function listOf(zone: string, signal: AbortSignal): Promise<readonly string[]> {
  const reader = new Reader({ doh: `${location.origin}/dns-query`, zone });
  const question = { operation: 'info', resource: 'services', namespace: 'public' } as const;
  const { data } = await reader.json<Readonly<Record<string, string>>>(question, { signal });
  return Object.keys(data);
}

function Fields({
  service,
  zone,
  onName,
}: {
  service: string;
  zone: string;
  onName: (name: string) => void;
}) {
  const name = `info.${service}.public.v1.${zone}`;
  const found = useResource(
    `service ${name}`,
    (signal) => readServiceDocument(`${location.origin}/schema`, name, { signal }),
    { freshMs: 300_000 },
  );
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const format = found.value?.dns_format;
  useEffect(() => {
    if (format !== undefined) onName(filledTemplate(format, values));
    // The name follows the values; the function is another one at each render.
  }, [format, values]);
  if (found.state === 'loading') return <Loading />;
  if (found.state === 'failed') return <ErrorNote error={found.error} again={found.again} />;
  const { schema, dns_format } = found.value;
  return (
    <>
      <p>{schema.description}</p>
      <div class="cards">
        {placeholdersOf(dns_format).map(({ id, examples }) => (
          <TextField
            key={id}
            label={id}
            value={values[id] ?? examples[0] ?? ''}
            options={examples}
            onInput={(value) => setValues({ ...values, [id]: value })}
            isCode
          />
        ))}
      </div>
    </>
  );
}
