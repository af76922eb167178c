import { useRef, useState } from 'preact/hooks';
import { ApiError, type Meta, type TaggedRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import { foldCase } from '../../../../src/protocol/names/labels.ts';
import { api } from '../../app/client.ts';
import { setQuery } from '../../app/router.ts';
import { createRepeatKeys } from '../../data/repeat-key.ts';
import { useAction } from '../../data/use-action.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { toast } from '../../ui/toast.tsx';
import { ConflictForm } from './conflict-form.tsx';
import { type Draft, draftOf, newDraft } from './record-draft.ts';
import { RecordForm } from './record-form.tsx';
import { createRecord, editable, type Saved, saveEdit } from './save-record.ts';
import type { Editable } from './three-way.ts';

interface CommonProps {
  readonly meta: Meta;
  readonly namespaces: readonly string[];
  readonly onSaved: (saved: Saved) => void;
  readonly onClose: () => void;
}

export interface NewRecordDialogProps extends CommonProps {
  /** With which its key begins. */
  readonly namespace: string;
  /** The account has none, as far as one knows: where they could not be read the form is shown. */
  readonly hasNoNamespace: boolean;
}

/** Makes a record. */
export function NewRecordDialog(props: NewRecordDialogProps) {
  const { meta, namespaces, namespace, hasNoNamespace, onSaved, onClose } = props;
  const [initial] = useState(() => newDraft(namespace, meta.limits.ttl_seconds_default ?? 300));
  const [conflict, setConflict] = useState<Conflict | null>(null);
  // The same input keeps its key, so that a second try after a lost answer makes no second record.
  const keys = useRef(createRepeatKeys());
  return (
    <Dialog title={t('records.new')} onClose={onClose} isWide={!hasNoNamespace}>
      {hasNoNamespace ? (
        <EmptyState title={t('import.noNamespace')} text={t('import.noNamespaceText')}>
          <a class="button primary" href="/namespaces" onClick={onClose}>
            {t('import.toNamespaces')}
          </a>
        </EmptyState>
      ) : null}
      <div hidden={conflict !== null || hasNoNamespace}>
        <RecordForm
          meta={meta}
          initial={initial}
          isNew
          namespaces={namespaces}
          name="record"
          help={(error, read, key) =>
            isTaken(error) ? (
              <Taken
                recordKey={foldCase(key)}
                onOpen={(id) => {
                  onClose();
                  setQuery({ record: id }, {});
                }}
                onCompare={(theirs) => setConflict({ base: theirs, mine: read().fields, theirs })}
              />
            ) : null
          }
          onSave={async (read, { key }) => {
            onSaved(await createRecord(foldCase(key), read.fields, keys.current([key, read.fields])));
          }}
        />
      </div>
      {conflict === null ? null : (
        <ConflictForm
          base={editable(conflict.base)}
          mine={conflict.mine}
          theirs={editable(conflict.theirs)}
          isOlder
          onBack={() => setConflict(null)}
          onSave={async (merged) => {
            const result = await saveEdit(conflict.theirs, merged);
            if (result.kind === 'saved') onSaved(result.saved);
            else if (result.kind === 'conflict')
              setConflict({ base: result.theirs, mine: merged, theirs: result.theirs });
            else {
              toast(t('records.unchanged'));
              onClose();
            }
          }}
        />
      )}
    </Dialog>
  );
}

function isTaken(error: unknown): boolean {
  return (
    error instanceof ApiError && error.messages.some((message) => /^Key has already been taken/.test(message))
  );
}

interface TakenProps {
  readonly recordKey: string;
  readonly onOpen: (id: string) => void;
  readonly onCompare: (theirs: TaggedRecord) => void;
}

/** Ways on from a key that is taken. */
function Taken({ recordKey, onOpen, onCompare }: TakenProps) {
  const { isBusy, error, run } = useAction();
  const withStored = (then: (record: TaggedRecord) => void): void =>
    run(async () => {
      const found = await api.records.find(recordKey);
      if (found === null) throw new Error(t('records.takenGone'));
      then(await api.records.get(found.id));
    });
  return (
    <div class="actions">
      <Button isBusy={isBusy} onClick={() => withStored(({ id }) => onOpen(id))}>
        {t('records.openIt')}
      </Button>
      <Button isBusy={isBusy} onClick={() => withStored(onCompare)}>
        {t('records.replace')}
      </Button>
      {error === undefined ? null : <ErrorNote error={error} />}
    </div>
  );
}

export interface EditRecordDialogProps extends CommonProps {
  /** As it was read when the form was opened. */
  readonly record: TaggedRecord;
  /** Somebody else has changed it since. */
  readonly isChanged: boolean;
  /** What was typed elsewhere, and what it conflicts with. */
  readonly conflict?: Conflict;
}

export interface Conflict {
  /** What the change began with. */
  readonly base: TaggedRecord;
  readonly mine: Editable;
  readonly theirs: TaggedRecord;
}

/** Changes a record. Before it is saved it is read again: what somebody else changed meanwhile is shown beside. */
export function EditRecordDialog(props: EditRecordDialogProps) {
  const { meta, namespaces, record, isChanged, onSaved, onClose } = props;
  const draftWith = (fields: Editable): Draft => ({
    ...draftOf({ ...fields, key: record.key }),
    base: record,
  });
  const [initial] = useState(() => draftWith(editable(record)));
  const [begun] = useState(() => (props.conflict === undefined ? initial : draftWith(props.conflict.mine)));
  const [conflict, setConflict] = useState<Conflict | null>(props.conflict ?? null);
  const save = async (base: TaggedRecord, mine: Editable): Promise<unknown> => {
    const result = await saveEdit(base, mine);
    if (result.kind === 'conflict') {
      setConflict({ base, mine, theirs: result.theirs });
      return 'kept';
    }
    if (result.kind === 'saved') onSaved(result.saved);
    else {
      toast(t('records.unchanged'));
      onClose();
    }
    return null;
  };
  return (
    <Dialog title={t('records.editThis', { key: record.key })} onClose={onClose} isWide>
      <p class={isChanged && conflict === null ? 'note warn' : 'hidden'} role="status">
        {isChanged && conflict === null ? t('records.changedMeanwhile') : ''}
      </p>
      <div hidden={conflict !== null}>
        <RecordForm
          meta={meta}
          initial={initial}
          begun={begun}
          isNew={false}
          namespaces={namespaces}
          name={`record ${record.id}`}
          onSave={async ({ fields }, { base }) =>
            await save(base ?? record, keepMilliseconds(fields, editable(base ?? record)))
          }
        />
      </div>
      {conflict === null ? null : (
        <ConflictForm
          base={editable(conflict.base)}
          mine={conflict.mine}
          theirs={editable(conflict.theirs)}
          onBack={() => setConflict(null)}
          // What the form holds still began with the older one: only the choice is a change of theirs.
          onSave={async (merged) => await save(conflict.theirs, merged)}
        />
      )}
    </Dialog>
  );
}

/** A time that nobody touched is not a change, whatever its parts below a second. */
function keepMilliseconds(fields: Editable, before: Editable): Editable {
  const { expires_at: now } = fields;
  const { expires_at: was } = before;
  const isSame = now !== null && was !== null && Date.parse(now) === Date.parse(was);
  return isSame ? { ...fields, expires_at: was } : fields;
}
