import { useState } from 'preact/hooks';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { Chips } from '../../ui/chips.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';

/** Whole programs that receive webhooks. They read the secret from the environment: the page does not know it. */
export function ReceiverTab() {
  // A chunk of its own: most visits of the page never show it.
  const receivers = useResource(
    'receivers',
    async () => (await import('./receivers/receivers.ts')).RECEIVERS,
    { freshMs: Number.POSITIVE_INFINITY },
  );
  const [chosen, setChosen] = useState<string | null>(null);
  if (receivers.value === undefined) {
    return receivers.state === 'failed' ? (
      <ErrorNote error={receivers.error} again={receivers.again} />
    ) : (
      <Loading />
    );
  }
  const shown = receivers.value.find(({ name }) => name === chosen) ?? receivers.value[0];
  if (shown === undefined) return null;
  return (
    <>
      <p>{t('webhooks.receiverText')}</p>
      <Chips
        label={t('webhooks.receiver')}
        chips={receivers.value.map(({ name }) => ({ value: name, text: name }))}
        chosen={shown.name}
        onChange={(name) => setChosen(name ?? shown.name)}
      />
      <CodeBlock code={shown.start} label={t('webhooks.start')} />
      <CodeBlock code={shown.code} label={shown.name} language="text" />
    </>
  );
}
