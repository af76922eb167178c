import { useState } from 'preact/hooks';
import type { WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { Chips } from '../../ui/chips.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { eventBodies } from './event-schema.ts';

const FRESH_MS = 300_000;

/** What arrives: a sample and the fields of each event, as the server describes them. */
export function EventsTab({ webhook }: { readonly webhook: WebhookResource }) {
  const bodies = useResource(
    'openapi events',
    async (signal) => eventBodies((await api.request({ method: 'GET', path: '/openapi.json', signal })).body),
    { freshMs: FRESH_MS },
  );
  const [chosen, setChosen] = useState<string | null>(null);
  if (bodies.value === undefined) {
    return bodies.state === 'failed' ? <ErrorNote error={bodies.error} again={bodies.again} /> : <Loading />;
  }
  const shown = bodies.value.find(({ name }) => name === chosen) ?? bodies.value[0];
  if (shown === undefined) return null;
  const isSent = shown.name === 'webhook.test' || webhook.events.some((event) => event === shown.name);
  return (
    <>
      <Chips
        label={t('webhooks.events')}
        chips={bodies.value.map(({ name }) => ({ value: name, text: name }))}
        chosen={shown.name}
        onChange={(name) => setChosen(name ?? shown.name)}
      />
      <h2>{shown.name}</h2>
      <p>
        {shown.summary}. {isSent ? '' : t('webhooks.notSent')}
      </p>
      <h3>{t('webhooks.sample')}</h3>
      <CodeBlock code={JSON.stringify(shown.sample, null, 2)} label={t('webhooks.sample')} language="json" />
      <h3>{t('webhooks.fields')}</h3>
      <div class="wide-table" role="region" aria-label={t('webhooks.fields')} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t('webhooks.field')}</th>
              <th scope="col">{t('webhooks.type')}</th>
              <th scope="col">{t('webhooks.meaning')}</th>
            </tr>
          </thead>
          <tbody>
            {shown.fields.map(({ path, type, description }) => (
              <tr key={path}>
                <th scope="row" class="code">
                  {path}
                </th>
                <td>{type}</td>
                <td>{description}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
