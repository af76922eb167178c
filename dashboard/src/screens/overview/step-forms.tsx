/** The forms of the first steps: one action each. */
import { useRef, useState } from 'preact/hooks';
import type { Meta, NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { createRepeatKeys } from '../../data/repeat-key.ts';
import { invalidate } from '../../data/resource.ts';
import { useAction } from '../../data/use-action.ts';
import { milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import type { DnsAnswer } from '../records/dns-answer.ts';

function failure(error: unknown) {
  return error === undefined ? null : <ErrorNote error={error} />;
}

export function NamespaceStep() {
  const [name, setName] = useState('');
  const keys = useRef(createRepeatKeys());
  const action = useAction();
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        action.run(async () => {
          const wanted = name.trim();
          await api.namespaces.create(wanted, { idempotencyKey: keys.current(wanted) });
          invalidate('namespaces');
          invalidate('usage');
        });
      }}
    >
      <TextField
        label={t('overview.name')}
        help={t('overview.nameHelp')}
        value={name}
        onInput={setName}
        isRequired
        isCode
        hasFocus
      />
      {failure(action.error)}
      <div class="actions">
        <Button type="submit" tone="primary" isBusy={action.isBusy}>
          {t('overview.create')}
        </Button>
      </div>
    </form>
  );
}

export function RecordStep({ namespace }: { readonly namespace: NamespaceResource }) {
  const [key, setKey] = useState(`greeting.${namespace.name}.v1`);
  const [data, setData] = useState(t('overview.sample'));
  const keys = useRef(createRepeatKeys());
  const action = useAction();
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        action.run(async () => {
          const wanted = key.trim();
          const options = { idempotencyKey: keys.current([wanted, data]) };
          await api.records.create(wanted, { text: data }, options);
          invalidate('usage');
          invalidate('records');
          invalidate('first-record');
        });
      }}
    >
      <TextField
        label={t('overview.key')}
        help={t('overview.keyHelp')}
        value={key}
        onInput={setKey}
        isRequired
        isCode
      />
      <TextField label={t('overview.data')} value={data} onInput={setData} isCode hasFocus />
      {failure(action.error)}
      <div class="actions">
        <Button type="submit" tone="primary" isBusy={action.isBusy}>
          {t('overview.save')}
        </Button>
      </div>
    </form>
  );
}

export interface ReadStepProps {
  readonly meta: Meta;
  readonly namespace: NamespaceResource;
  /** Of a record in it. */
  readonly recordKey: string;
  readonly onAnswer: (answer: DnsAnswer) => void;
}

export function ReadStep({ meta, namespace, recordKey, onAnswer }: ReadStepProps) {
  const action = useAction();
  return (
    <div class="stack">
      <p>
        {t(namespace.public_read === true ? 'overview.readOpen' : 'overview.readText', { key: recordKey })}
      </p>
      {failure(action.error)}
      <div class="actions">
        <Button
          tone="primary"
          isBusy={action.isBusy}
          onClick={() =>
            action.run(async () => {
              // The reader of DNS is a quarter of the scripts of this page, and pressed once in the life of an account.
              const { readFirst } = await import('../records/ask-dns.ts');
              onAnswer(await readFirst(meta, namespace, recordKey));
              invalidate(`tokens ${namespace.id}`);
            })
          }
        >
          {t('overview.readNow')}
        </Button>
        <a href={`/namespaces/${encodeURIComponent(namespace.name)}`}>{t('overview.makeToken')}</a>
      </div>
    </div>
  );
}

/** What the DNS said to the first read. */
export function FirstAnswer({
  recordKey,
  answer,
}: {
  readonly recordKey: string;
  readonly answer: DnsAnswer;
}) {
  if (answer.kind === 'failed') return <ErrorNote error={answer.error} />;
  if (answer.kind === 'record') {
    const { data } = answer.reading;
    return (
      <section class="note good" aria-label={t('overview.answer')}>
        <p>{t('overview.answered', { key: recordKey, ms: milliseconds(answer.ms) })}</p>
        <output class="code first-answer">{new TextDecoder().decode(data ?? new Uint8Array())}</output>
      </section>
    );
  }
  return (
    <p class="note bad" role="alert">
      {t(answer.kind === 'refused' ? 'overview.refused' : 'overview.nothing')}
    </p>
  );
}
