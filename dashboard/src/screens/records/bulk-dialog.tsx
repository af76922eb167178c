import { useRef, useState } from 'preact/hooks';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { BulkItem } from './bulk-job.ts';
import { BulkRun } from './bulk-run.tsx';
import { type BulkWrite, useBulkJob } from './use-bulk-job.ts';

export interface BulkDialogProps {
  readonly title: string;
  /** What will happen, with the number of writes. */
  readonly text: string;
  readonly items: readonly BulkItem[];
  readonly isDeletion: boolean;
  /** @param done keys that were written or deleted, by `writes` */
  readonly onClose: (done: ReadonlySet<string>, writes: readonly BulkWrite[]) => void;
}

/** Asks, then writes in steps of 500, with progress, stop and resume. */
export function BulkDialog({ title, text, items, isDeletion, onClose }: BulkDialogProps) {
  const bulk = useBulkJob();
  const [wasStarted, setStarted] = useState(false);
  const wasClicked = useRef(false);
  const isRunning = bulk.state === 'running';
  const close = (): void => onClose(bulk.doneKeys(), bulk.writes());
  return (
    <Dialog title={title} canClose={!isRunning} onClose={close}>
      <p>{text}</p>
      {wasStarted ? <BulkRun bulk={bulk} /> : null}
      <div class="actions">
        {isRunning ? null : <Button onClick={close}>{t(wasStarted ? 'ui.close' : 'ui.cancel')}</Button>}
        {wasStarted ? null : (
          <Button
            tone={isDeletion ? 'danger' : 'primary'}
            onClick={() => {
              if (wasClicked.current) return;
              wasClicked.current = true;
              setStarted(true);
              bulk.start(items);
            }}
          >
            {t(isDeletion ? 'ui.delete' : 'records.bulkStart')}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
