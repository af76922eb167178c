import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { keyParts } from '../records/record-rules.ts';
import { HistoryView } from './history-view.tsx';

export interface HistoryPanelProps {
  /** A key, with or without a record. */
  readonly of: string;
  /** Undefined: they are not known yet. */
  readonly namespaces: readonly NamespaceResource[] | undefined;
  readonly onClose: () => void;
}

/** The history of a key, at the side: also of a record that is deleted. */
export function HistoryPanel({ of, namespaces, onClose }: HistoryPanelProps) {
  const record = useResource(`record of ${of}`, async (signal) => {
    const found = await api.records.find(of, { signal });
    return found === null ? null : await api.records.get(found.id, { signal });
  });
  const { namespace: name } = keyParts(of);
  const namespace = namespaces?.find((one) => one.name === name);
  return (
    <Dialog title={t('history.of', { key: of })} place="side" onClose={onClose}>
      {record.error === undefined ? null : <ErrorNote error={record.error} again={record.again} />}
      {namespaces === undefined || record.state === 'loading' ? <Loading /> : null}
      {namespaces !== undefined && namespace === undefined ? <p>{t('namespaces.none', { name })}</p> : null}
      {namespace !== undefined && record.value !== undefined ? (
        <HistoryView namespace={namespace} of={of} record={record.value} />
      ) : null}
    </Dialog>
  );
}
