import { useState } from 'preact/hooks';
import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { invalidate } from '../../data/resource.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { stateOf, useTokens } from '../tokens/use-tokens.ts';

export interface DangerTabProps {
  readonly namespace: NamespaceResource;
  readonly onDeleted: () => void;
}

/** Deletes the namespace, after its name was typed. */
export function DangerTab({ namespace, onDeleted }: DangerTabProps) {
  const { id, name, records_count } = namespace;
  const tokens = useTokens(id);
  const [isAsking, setAsking] = useState(false);
  const live = tokens.value?.filter((token) => stateOf(token, Date.now()) === 'live').length;
  const losses = [
    tn('namespaces.losesRecords', records_count),
    live === undefined ? t('namespaces.losesTokens') : tn('namespaces.losesLiveTokens', live),
  ];
  const lost = losses.map((loss) => <li key={loss}>{loss}</li>);
  return (
    <div class="card prose">
      <h2>{t('namespaces.delete')}</h2>
      <p>{t('namespaces.deleteText')}</p>
      <ul>
        {lost}
        <li>{t('namespaces.deleteName', { name })}</li>
      </ul>
      <div class="actions">
        <Button tone="danger" onClick={() => setAsking(true)}>
          {t('namespaces.deleteThis', { name })}
        </Button>
      </div>
      {isAsking ? (
        <ConfirmDialog
          title={t('namespaces.deleteThis', { name })}
          typed={name}
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await api.namespaces.delete(id);
            invalidate('namespaces');
            invalidate('records');
            invalidate('usage');
            toast(t('namespaces.deleted', { name }));
            onDeleted();
          }}
        >
          <ul>{lost}</ul>
        </ConfirmDialog>
      ) : null}
    </div>
  );
}
