import { useEffect, useRef, useState } from 'preact/hooks';
import {
  ApiError,
  type NamespaceResource,
  type TaggedRecord,
  type VersionResource,
} from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useIsOwner } from '../../app/session.ts';
import { asOwn } from '../../data/own-writes.ts';
import { invalidate } from '../../data/resource.ts';
import { useListing } from '../../data/use-listing.ts';
import { bytes, dateTime } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { toast } from '../../ui/toast.tsx';
import { VersionDiff } from './version-diff.tsx';

export interface HistoryViewProps {
  readonly namespace: NamespaceResource;
  /** Key of the record. */
  readonly of: string;
  /** As it is seen here; null: there is none of this key now. */
  readonly record: TaggedRecord | null;
}

const PAGE = 50;

/** What is asked about, as it was seen when the question began. */
type Question = HistoryViewProps & { readonly version: VersionResource | null; readonly onClose: () => void };

/** The versions of a key, newest first: compared, restored, erased. */
export function HistoryView(props: HistoryViewProps) {
  const { namespace } = props;
  const [question, setQuestion] = useState<Question | null>(null);
  // Beside the list, which is read again meanwhile: a question and its refusal stay.
  const ask = (version: VersionResource | null): void =>
    setQuestion({ ...props, version, onClose: () => setQuestion(null) });
  if (namespace.history === undefined) {
    return (
      <p>
        {t('history.off', { namespace: namespace.name })}{' '}
        <a href={`/namespaces/${namespace.name}?tab=settings`}>{t('history.toSettings')}</a>
      </p>
    );
  }
  return (
    <>
      <VersionList {...props} onAsk={ask} />
      {question === null ? null : question.version === null ? (
        <EraseDialog {...question} />
      ) : (
        <RestoreDialog {...question} version={question.version} />
      )}
    </>
  );
}

interface VersionListProps extends HistoryViewProps {
  /** @param version to restore; null: erase all */
  readonly onAsk: (version: VersionResource | null) => void;
}

function VersionList({ namespace, of, record, onAsk }: VersionListProps) {
  const { first, items, more, isReading, error } = useListing(
    `versions ${namespace.id} ${of}`,
    (signal) => api.namespaces.versions(namespace.id, of, { limit: PAGE, signal }),
    ({ version }) => version,
  );
  const isOwner = useIsOwner();
  const seen = useRef(record?.etag);
  useEffect(() => {
    // Another value: the one before is a version now. What is open stays open meanwhile.
    if (seen.current !== record?.etag) first.again();
    seen.current = record?.etag;
  }, [record?.etag]);
  if (first.state === 'loading') return <Loading />;
  if (first.state === 'failed') return <ErrorNote error={first.error} again={first.again} />;
  return (
    <>
      {first.error === undefined ? null : <ErrorNote error={first.error} again={first.again} />}
      {record === null ? <p class="note warn">{t('history.gone')}</p> : null}
      {items.length === 0 ? <p>{t('history.none')}</p> : null}
      <ol class="plain versions" aria-label={t('history.versions')}>
        {items.map((version, at) => (
          <VersionItem
            key={version.version}
            version={version}
            before={items[at + 1]?.version}
            record={record}
            onRestore={namespace.suspended === true ? null : onAsk}
          />
        ))}
      </ol>
      {error === undefined ? null : <ErrorNote error={error} />}
      <div class="actions">
        {isOwner ? (
          <a class="button" href={`/audit?key=${encodeURIComponent(of)}`}>
            {t('history.who')}
          </a>
        ) : null}
        {more === undefined ? null : (
          <Button isBusy={isReading} onClick={more}>
            {t('history.older')}
          </Button>
        )}
        {namespace.suspended !== true && items.some(({ valid_to }) => valid_to !== null) ? (
          <Button tone="danger" onClick={() => onAsk(null)}>
            {t('history.erase')}
          </Button>
        ) : null}
      </div>
    </>
  );
}

function EraseDialog({ namespace, of, record, onClose }: Question) {
  return (
    <ConfirmDialog
      title={t('history.erase')}
      confirm={t('history.eraseNow')}
      onClose={onClose}
      onConfirm={async () => {
        await api.namespaces.eraseVersions(namespace.id, of);
        invalidate('versions');
        invalidate('usage');
        toast(t('history.erased', { key: of }));
      }}
    >
      <p>{t(record === null ? 'history.eraseGone' : 'history.eraseText', { key: of })}</p>
    </ConfirmDialog>
  );
}

interface VersionItemProps {
  readonly version: VersionResource;
  /** Number of the version before it; undefined: it is not known. */
  readonly before: number | undefined;
  readonly record: TaggedRecord | null;
  /** Null: nothing can be written. */
  readonly onRestore: ((version: VersionResource) => void) | null;
}

function VersionItem({ version, before, record, onRestore }: VersionItemProps) {
  const [isOpen, setOpen] = useState(false);
  const { version: number, valid_from, valid_to, cause, content_type, expired } = version;
  const isPresent = valid_to === null;
  const name = t('history.version', { number });
  return (
    <li class="card stack">
      <div class="version-head">
        <span>
          <strong>{name}</strong> {isPresent ? <Badge tone="good" text={t('history.present')} /> : null}
          {cause === 'delete' ? <Badge tone="bad" text={t('history.deleted')} /> : null}
          {expired === true ? <Badge tone="warn" text={t('history.expired')} /> : null}
        </span>
        <span class="actions">
          {record === null || expired === true || (isPresent && before === undefined) ? null : (
            <Button
              isPressed={isOpen}
              label={`${t('history.compare')} ${name}`}
              onClick={() => setOpen(!isOpen)}
            >
              {t('history.compare')}
            </Button>
          )}
          {onRestore === null || isPresent || expired === true ? null : (
            <Button label={`${t('history.restore')} ${name}`} onClick={() => onRestore(version)}>
              {t('history.restore')}
            </Button>
          )}
        </span>
      </div>
      <p class="dim">
        {t(isPresent ? 'history.since' : 'history.span', {
          from: dateTime(valid_from),
          to: isPresent ? '' : dateTime(valid_to),
        })}
        {' · '}
        {bytes(version.bytes)}
        {' · '}
        <span class="code">{content_type}</span>
      </p>
      {isOpen && record !== null ? <VersionDiff record={record} version={version} before={before} /> : null}
    </li>
  );
}

function RestoreDialog(props: Question & { readonly version: VersionResource }) {
  const { namespace, of, record, version, onClose } = props;
  const { version: number, valid_from } = version;
  const restore = async (): Promise<void> => {
    let write: string | undefined;
    const onWritten = (seq: string): void => {
      write = seq;
    };
    try {
      await asOwn<unknown>('record.upserted', [of], () =>
        record === null
          ? api.namespaces.restore(namespace.id, of, number, { onWritten })
          : // As it is seen here: somebody else's newer value is not replaced unseen.
            api.records.restore(record.id, number, { ifMatch: record.etag ?? undefined, onWritten }),
      );
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 412)) throw error;
      readAgain();
      const { status, code, requestId, retryAfter } = error;
      throw new ApiError({ status, code, requestId, retryAfter, messages: [t('history.conflict')] });
    }
    const seq = write;
    const undo = async (): Promise<void> => {
      if (seq !== undefined)
        await asOwn('record.upserted', [of], () => api.namespaces.undo(namespace.id, seq));
      readAgain();
    };
    toast(t('history.restored', { key: of, number }), seq === undefined ? {} : { undo });
    readAgain();
  };
  return (
    <ConfirmDialog
      title={t('history.restoreThis', { number })}
      confirm={t('history.restore')}
      tone="primary"
      onClose={onClose}
      onConfirm={restore}
    >
      <p>
        {t(record === null ? 'history.restoreGone' : 'history.restoreText', {
          key: of,
          number,
          from: dateTime(valid_from),
        })}
      </p>
    </ConfirmDialog>
  );
}

function readAgain(): void {
  for (const prefix of ['record', 'versions', 'namespaces', 'usage', 'me']) invalidate(prefix);
}
