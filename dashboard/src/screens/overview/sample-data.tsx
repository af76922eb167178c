/** A namespace with twelve records, so that no screen of a new account is empty. */
import { useRef } from 'preact/hooks';
import { api } from '../../app/client.ts';
import { createRepeatKeys } from '../../data/repeat-key.ts';
import { invalidate } from '../../data/resource.ts';
import { useAction } from '../../data/use-action.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SAMPLES } from './samples.ts';

const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Random, because names of namespaces are unique among all customers. */
function sampleName(): string {
  const random = crypto.getRandomValues(new Uint8Array(6));
  return `sample-${[...random].map((octet) => LETTERS[octet % LETTERS.length]).join('')}`;
}

export function SampleData() {
  const name = useRef(sampleName());
  const keys = useRef(createRepeatKeys());
  const action = useAction();
  const make = async (): Promise<void> => {
    const namespace = name.current;
    await api.namespaces.create(namespace, { idempotencyKey: keys.current(namespace) });
    const put = Object.entries(SAMPLES).map(([key, value]) => ({ key: `${key}.${namespace}.v1`, ...value }));
    await api.records.bulk({ put });
    invalidate('namespaces');
    invalidate('records');
    invalidate('usage');
  };
  return (
    <div class="stack">
      <p class="dim">{t('overview.sampleText', { count: Object.keys(SAMPLES).length })}</p>
      {action.error === undefined ? null : <ErrorNote error={action.error} />}
      <div class="actions">
        <Button isBusy={action.isBusy} onClick={() => action.run(make)}>
          {t('overview.sampleData')}
        </Button>
      </div>
    </div>
  );
}
