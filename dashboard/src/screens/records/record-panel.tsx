import { useLayoutEffect, useState } from 'preact/hooks';
import {
  ApiError,
  type Meta,
  type NamespaceResource,
  type TaggedRecord,
} from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { time } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { HistoryView } from '../history/history-view.tsx';
import { SuspendedNote } from '../namespaces/suspended-note.tsx';
import { DnsView } from './dns-view.tsx';
import { useSeldom } from './live-line.tsx';
import type { LiveMarks } from './live-marks.ts';
import { PayloadPanel } from './payload-panel.tsx';
import { recordSnippets } from './record-snippets.ts';

const TABS = [
  { id: 'data', text: t('records.data') },
  { id: 'dns', text: t('records.asDns') },
  { id: 'history', text: t('history.title') },
] as const;

export interface RecordPanelProps {
  readonly id: string;
  readonly meta: Meta;
  readonly namespaces: readonly NamespaceResource[];
  /** What others have done to records meanwhile. */
  readonly marks: LiveMarks;
  readonly onEdit: (record: TaggedRecord) => void;
  readonly onDelete: (record: TaggedRecord) => void;
  /** It is not there any more. */
  readonly onGone: () => void;
  /** @param key undefined: it was never read */
  readonly onClose: (key: string | undefined) => void;
}

/** The details of a record, at the side. */
export function RecordPanel(props: RecordPanelProps) {
  const { id, meta, namespaces, marks, onEdit, onDelete, onClose } = props;
  const record = useResource(`record ${id}`, (signal) => api.records.get(id, { signal }));
  const [tab, setTab] = useState<string>('data');
  const { value, error } = record;
  const isGone = error instanceof ApiError && error.status === 404;
  // Who reads that it is gone may close the panel before the next frame: the row leaves the list all the same.
  useLayoutEffect(() => {
    if (isGone) props.onGone();
  }, [isGone]);
  const mark = value === undefined ? undefined : marks.get(value.key);
  const seen = useSeldom(mark === undefined ? '' : t(`records.seen_${mark.kind}`, { time: time(mark.at) }));
  const namespace = namespaces.find(({ name }) => name === value?.namespace);
  // A suspended namespace is refused over DNS.
  const isSuspended = namespace?.suspended === true;
  const tabs = TABS.filter((one) => one.id !== 'dns' || !isSuspended);
  const shown = tabs.some((one) => one.id === tab) ? tab : TABS[0].id;
  return (
    <Dialog title={value?.key ?? t('records.one')} place="side" onClose={() => onClose(value?.key)}>
      <p class={seen === '' ? 'hidden' : 'note warn'} role="status">
        {seen}
      </p>
      {record.state === 'loading' ? <Loading /> : null}
      {record.error === undefined ? null : <ErrorNote error={record.error} again={record.again} />}
      {value === undefined ? null : (
        <>
          <div class="actions">
            <CopyAs
              variants={recordSnippets(value.key, meta, location.origin, namespace?.public_read === true)}
            />
            {isSuspended ? null : (
              <>
                <Button onClick={() => onEdit(value)}>{t('records.edit')}</Button>
                <Button tone="danger" onClick={() => onDelete(value)}>
                  {t('ui.delete')}
                </Button>
              </>
            )}
          </div>
          <SuspendedNote namespace={namespace} />
          <Tabs label={t('records.views')} tabs={tabs} current={shown} onChange={setTab}>
            {shown === 'data' ? <PayloadPanel record={value} /> : null}
            {shown === 'history' && namespace !== undefined ? (
              <HistoryView namespace={namespace} of={value.key} record={value} />
            ) : null}
            {shown === 'dns' ? <DnsView record={value} namespace={namespace} meta={meta} /> : null}
          </Tabs>
        </>
      )}
    </Dialog>
  );
}
