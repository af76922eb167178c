import { useEffect, useState } from 'preact/hooks';
import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { useIsOwner } from '../../app/session.ts';
import { invalidate } from '../../data/resource.ts';
import { useAction } from '../../data/use-action.ts';
import { count, date } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { toast } from '../../ui/toast.tsx';

export interface SettingsTabProps {
  readonly namespace: NamespaceResource;
}

/** History, and how long caches keep open answers. */
export function SettingsTab({ namespace }: SettingsTabProps) {
  return (
    <>
      <HistorySetting namespace={namespace} />
      {namespace.public_read ? <MaxTtl namespace={namespace} /> : null}
    </>
  );
}

const VERSIONS = 20;
const DAYS = 90;

/** Whether replaced and deleted values are kept, and what that means for their erasure. */
function HistorySetting({ namespace: { id, name, history } }: SettingsTabProps) {
  const { value: meta } = useMeta();
  /** What the fields were filled from. */
  const [seen, setSeen] = useState(history);
  const [typed, setTyped] = useState<Readonly<Partial<Record<'versions' | 'days', string>>>>({});
  const versions = typed.versions ?? String(seen?.versions ?? VERSIONS);
  const days = typed.days ?? String(seen?.days ?? DAYS);
  const [isOther, setOther] = useState(false);
  const [isEnding, setEnding] = useState(false);
  const { isBusy, error, run } = useAction();
  const isOwner = useIsOwner();
  const isOn = history !== undefined;
  const read = (): void => {
    invalidate('namespaces');
    invalidate('versions');
    invalidate('usage');
  };
  return (
    <section class="card stack prose" aria-labelledby="history-setting">
      <h2 id="history-setting">{t('history.title')}</h2>
      <p>
        <strong>{isOn ? t('history.isOn', { since: date(history.since) }) : t('history.isOff')}</strong>
      </p>
      <p>{t(isOn ? 'history.onMeans' : 'history.offMeans')}</p>
      <ul>
        <li>{t('history.meansRead')}</li>
        <li>{t('history.meansExpiry')}</li>
        <li>{t('history.meansErase')}</li>
        <li>{t('history.meansBackup')}</li>
      </ul>
      {isOwner ? (
        <form
          class="stack"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            run(async () => {
              setOther(false);
              const { history: now } = await api.namespaces.get(id);
              // Both limits are written together, and a smaller one erases: not those that somebody else has set meanwhile.
              if (now?.versions !== seen?.versions || now?.days !== seen?.days) {
                setSeen(now);
                setOther(true);
                return read();
              }
              setSeen(
                (await api.namespaces.update(id, { history: { versions: +versions, days: +days } })).history,
              );
              setTyped({});
              read();
              toast(t(isOn ? 'history.saved' : 'history.begun', { name }));
            });
          }}
        >
          <div class="bar">
            <TextField
              label={t('history.versionsMost')}
              help={t('history.from1', { max: meta?.limits.history_versions ?? 100 })}
              type="number"
              value={versions}
              onInput={(text) => setTyped((before) => ({ ...before, versions: text }))}
            />
            <TextField
              label={t('history.daysMost')}
              help={t('history.from1', { max: meta?.limits.history_days ?? 365 })}
              type="number"
              value={days}
              onInput={(text) => setTyped((before) => ({ ...before, days: text }))}
            />
          </div>
          {isOn ? <p class="dim">{t('history.lessErases')}</p> : null}
          {isOther ? (
            <p role="alert" class="note bad">
              {seen === undefined
                ? t('history.otherEnded')
                : t('history.otherSet', { versions: count(seen.versions), days: count(seen.days) })}
            </p>
          ) : null}
          {error === undefined ? null : <ErrorNote error={error} />}
          <div class="actions">
            <Button type="submit" tone="primary" isBusy={isBusy}>
              {t(isOn ? 'overview.save' : 'history.begin')}
            </Button>
            {isOn ? (
              <Button tone="danger" onClick={() => setEnding(true)}>
                {t('history.end')}
              </Button>
            ) : null}
          </div>
        </form>
      ) : (
        <p class="dim">{t('history.ownersOnly')}</p>
      )}
      {isEnding ? (
        <ConfirmDialog
          title={t('history.end')}
          confirm={t('history.endNow')}
          typed={name}
          onClose={() => setEnding(false)}
          onConfirm={async () => {
            await api.namespaces.update(id, { history: null });
            setSeen(undefined);
            setOther(false);
            read();
            toast(t('history.ended', { name }));
          }}
        >
          <p>{t('history.endText', { name })}</p>
        </ConfirmDialog>
      ) : null}
    </section>
  );
}

/** How long caches keep answers of a namespace that everyone may read. */
function MaxTtl({ namespace: { id, max_ttl } }: SettingsTabProps) {
  const [seconds, setSeconds] = useState<string | null>(null);
  /** Until the list of namespaces is read again. */
  const [saved, setSaved] = useState<number | null>(null);
  useEffect(() => setSaved(null), [max_ttl]);
  const { isBusy, error, run } = useAction();
  return (
    <form
      class="card stack prose"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        run(async () => {
          // Where nothing is typed, what somebody else has set meanwhile stays.
          if (seconds !== null) setSaved((await api.namespaces.update(id, { max_ttl: +seconds })).max_ttl);
          setSeconds(null);
          invalidate('namespaces');
          toast(t('namespaces.maxTtlSaved'));
        });
      }}
    >
      <TextField
        label={t('namespaces.maxTtl')}
        help={t('namespaces.maxTtlHelp')}
        type="number"
        value={seconds ?? `${saved ?? max_ttl}`}
        onInput={setSeconds}
      />
      {error === undefined ? null : <ErrorNote error={error} />}
      <Button type="submit" isBusy={isBusy}>
        {t('overview.save')}
      </Button>
    </form>
  );
}
