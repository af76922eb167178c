import { useState } from 'preact/hooks';
import { bytesOf, type TaggedRecord, type VersionResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { count, dateTime } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Select } from '../../ui/field.tsx';
import { Loading } from '../../ui/loading.tsx';
import { type ShownLine, valueDiff } from './value-diff.ts';

export interface VersionDiffProps {
  readonly record: TaggedRecord;
  readonly version: VersionResource;
  /** Number of the version before it; undefined: there is none to compare with. */
  readonly before: number | undefined;
}

/** A version never changes. */
const FRESH_MS = 3_600_000;

/** A version beside the present value, or beside the version before it. */
export function VersionDiff({ record, version, before }: VersionDiffProps) {
  const isPresent = version.valid_to === null;
  const [side, setSide] = useState<'present' | 'before'>(isPresent ? 'before' : 'present');
  const { id, etag } = record;
  const from = side === 'before' ? before : version.version;
  const to = side === 'before' && !isPresent ? version.version : null;
  const pair = useResource(
    `versions of ${id} ${etag} ${from} ${to}`,
    async (signal) => ({
      from: await api.records.version(id, from!, { signal }),
      to: to === null ? record : await api.records.version(id, to, { signal }),
    }),
    { freshMs: FRESH_MS },
  );
  return (
    <>
      {before === undefined || isPresent ? null : (
        <Select
          label={t('history.with')}
          value={side}
          options={[
            { value: 'present', text: t('history.withPresent') },
            { value: 'before', text: t('history.withBefore', { number: before }) },
          ]}
          onChange={setSide}
        />
      )}
      {pair.state === 'loading' ? <Loading /> : null}
      {pair.state === 'failed' ? <ErrorNote error={pair.error} again={pair.again} /> : null}
      {pair.value === undefined ? null : <Difference from={pair.value.from} to={pair.value.to} />}
    </>
  );
}

type Side = Pick<VersionResource, 'content_type' | 'encoding' | 'ttl_seconds' | 'expires_at' | 'data'>;

function Difference({ from, to }: { readonly from: Side; readonly to: Side }) {
  const { form, lines } = valueDiff(bytesOf(from), bytesOf(to));
  const fields = (['content_type', 'encoding', 'ttl_seconds', 'expires_at'] as const).filter(
    (field) => from[field] !== to[field],
  );
  const names = { json: 'records.view_json', text: 'records.view_text', octets: 'records.view_hex' } as const;
  return (
    <>
      {fields.length === 0 ? null : (
        <dl class="facts">
          {fields.map((field) => (
            <div key={field}>
              <dt>{t(`records.field_${field}`)}</dt>
              <dd>
                <del>{shown(from, field)}</del> → <ins>{shown(to, field)}</ins>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {lines.length === 0 ? (
        <p>{t('history.sameData')}</p>
      ) : (
        <figure class="code-block diff" aria-label={t('history.diff', { form: t(names[form]) })}>
          <pre tabIndex={0}>
            {lines.map((line, at) => (
              <Line key={at} line={line} />
            ))}
          </pre>
        </figure>
      )}
    </>
  );
}

function Line({ line }: { readonly line: ShownLine }) {
  if ('left' in line) return <div class="dim">{tn('history.left', line.left)}</div>;
  const text = `${line.mark} ${line.text}`;
  if (line.mark === '-') return <del>{text}</del>;
  return line.mark === '+' ? <ins>{text}</ins> : <div>{text}</div>;
}

function shown(side: Side, field: Exclude<keyof Side, 'data'>): string {
  if (field === 'ttl_seconds') return count(side.ttl_seconds);
  if (field !== 'expires_at') return side[field] ?? 'b64';
  return side.expires_at === null ? t('records.never') : dateTime(side.expires_at);
}
