import { useEffect, useRef } from 'preact/hooks';
import type { WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useAction } from '../../data/use-action.ts';
import { count } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { toast } from '../../ui/toast.tsx';
import { CHANGED_MAX, changedSince, missedSince } from './changed-since.ts';

const PAGE = 100;

/** Saves the present state of what changed since a webhook fails: events that it missed are not sent later. */
export function MissedButton({ webhook }: { readonly webhook: WebhookResource }) {
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const action = useAction();
  const since = missedSince(webhook);
  if (since === null) return null;
  const run = async (): Promise<void> => {
    const { signal } = ending.current;
    const newestFirst = api.records.list({ sort: '-updated_at' }, { limit: PAGE, signal });
    const { records, isCut } = await changedSince(newestFirst, since, webhook.scopes.namespaces);
    if (records.length > 0) {
      const lines = records.map((record) => `${JSON.stringify(record)}\n`);
      saveFile(
        `changed-since-${since.slice(0, 19).replaceAll(':', '-')}.jsonl`,
        'application/x-ndjson',
        lines.join(''),
      );
    }
    toast(
      isCut
        ? t('webhooks.missedCut', { max: count(CHANGED_MAX) })
        : tn('webhooks.missedSaved', records.length),
    );
  };
  return (
    <>
      <Button isBusy={action.isBusy} title={t('webhooks.missedHelp')} onClick={() => action.run(run)}>
        {t('webhooks.missed')}
      </Button>
      {action.error === undefined ? null : <ErrorNote error={action.error} />}
    </>
  );
}
