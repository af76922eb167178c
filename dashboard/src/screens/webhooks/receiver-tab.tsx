import { useState } from 'preact/hooks';
import { t } from '../../text/text.ts';
import { Chips } from '../../ui/chips.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { RECEIVERS } from './receivers/receivers.ts';

/** Whole programs that receive webhooks. They read the secret from the environment: the page does not know it. */
export function ReceiverTab() {
  const [chosen, setChosen] = useState('Express');
  const shown = RECEIVERS.find(({ name }) => name === chosen);
  if (shown === undefined) return null;
  return (
    <>
      <p>{t('webhooks.receiverText')}</p>
      <Chips
        label={t('webhooks.receiver')}
        chips={RECEIVERS.map(({ name }) => ({ value: name, text: name }))}
        chosen={chosen}
        onChange={(name) => setChosen(name ?? chosen)}
      />
      <CodeBlock code={shown.start} label={t('webhooks.start')} />
      <CodeBlock code={shown.code} label={shown.name} language="text" />
    </>
  );
}
