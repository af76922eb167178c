import { useState } from 'preact/hooks';
import { ApiError, type NamespaceResource, type RecordResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { invalidate } from '../../data/resource.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { toast } from '../../ui/toast.tsx';
import { deleteRecord } from './deletion.ts';
import type { RecordRow } from './record-pages.ts';

export interface DeleteDialogProps {
  readonly record: Pick<RecordRow, 'id' | 'key'>;
  readonly namespace: NamespaceResource | undefined;
  readonly onClose: () => void;
  /** Also where somebody else was faster. */
  readonly onDeleted: () => void;
  /** The deletion was undone. */
  readonly onBack: (record: RecordResource) => void;
}

/** Deletes a record after a question. */
export function DeleteDialog({ record, namespace, onClose, onDeleted, onBack }: DeleteDialogProps) {
  const [erase, setErase] = useState(false);
  const { key } = record;
  const days = namespace?.history?.days;
  const text =
    days === undefined
      ? t('records.deleteText', { key })
      : t(erase ? 'records.deleteErases' : 'records.deleteKeeps', { key, days: count(days) });
  return (
    <ConfirmDialog
      title={t('records.deleteOne')}
      onClose={onClose}
      onConfirm={async () => {
        const takeBack = await deleteRecord(api, record.id, { namespace, erase }).catch((error: unknown) => {
          if (error instanceof ApiError && error.status === 404) onDeleted();
          throw error;
        });
        const undo = async (): Promise<void> => {
          onBack((await takeBack?.()) as RecordResource);
          invalidate('usage');
          toast(t('records.backOne', { key }));
        };
        toast(t('records.deletedOne', { key }), takeBack === null ? {} : { undo });
        onDeleted();
      }}
    >
      <p>{text}</p>
      {days === undefined ? null : (
        <Checkbox label={t('records.erase')} isChecked={erase} onChange={setErase} />
      )}
    </ConfirmDialog>
  );
}
