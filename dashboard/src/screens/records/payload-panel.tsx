import { useEffect, useState } from 'preact/hooks';
import { bytesOf, type RecordResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { bytes, count } from '../../format/format.ts';
import { visibleParts } from '../../format/visible-text.ts';
import { t, tn } from '../../text/text.ts';
import { Chips } from '../../ui/chips.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { JsonTree } from '../../ui/json-tree.tsx';
import { Time } from '../../ui/time.tsx';
import { EncryptionPart } from './encryption-part.tsx';
import { hexDump, imageType, type PayloadView, parsedJson, utf8, viewsOf } from './payload.ts';

export interface PayloadPanelProps {
  readonly record: RecordResource;
}

/** The data of a record as an image, a tree, text or octets, and its other fields. */
export function PayloadPanel({ record }: PayloadPanelProps) {
  const octets = bytesOf(record);
  const { content_type: type } = record;
  return (
    <>
      {type === 'application/octet-stream' && [1, 2].includes(octets[0]!) ? (
        <EncryptionPart>
          {({ EncryptedValue }, kit) => (
            <EncryptedValue
              kit={kit}
              recordKey={record.key}
              octets={octets}
              show={(data) => <Views octets={data} type={type} />}
            />
          )}
        </EncryptionPart>
      ) : null}
      <Views octets={octets} type={type} />
      <dl class="facts">
        <dt>{t('records.type')}</dt>
        <dd class="code">{record.content_type}</dd>
        <dt>{t('records.encoding')}</dt>
        <dd>{t(record.encoding === 'plain' ? 'records.plain' : 'records.mode_base64')}</dd>
        <dt>{t('records.size')}</dt>
        <dd>{bytes(octets.length)}</dd>
        <dt>{t('records.ttl')}</dt>
        <dd>{count(record.ttl_seconds)}</dd>
        <dt>{t('records.expires')}</dt>
        <dd>
          {record.expires_at === null ? t('records.never') : <Time at={record.expires_at} form="exact" />}
        </dd>
        <dt>{t('records.created')}</dt>
        <dd>
          <Time at={record.created_at} form="exact" />
        </dd>
        <dt>{t('records.updated')}</dt>
        <dd>
          <Time at={record.updated_at} form="exact" />
        </dd>
      </dl>
    </>
  );
}

interface ViewsProps {
  readonly octets: Uint8Array<ArrayBuffer>;
  /** Media type. */
  readonly type: string;
}

function Views({ octets, type }: ViewsProps) {
  const views = viewsOf(octets, type);
  const [chosen, setChosen] = useState<string | null>(null);
  const view = views.find((one) => one === chosen) ?? views[0] ?? 'hex';
  return (
    <>
      <Chips
        label={t('records.viewAs')}
        chips={views.map((one) => ({ value: one, text: t(`records.view_${one}`) }))}
        chosen={view}
        onChange={setChosen}
      />
      <Payload view={view} octets={octets} type={type} />
    </>
  );
}

interface PayloadProps extends ViewsProps {
  readonly view: PayloadView;
}

function Payload({ view, octets, type }: PayloadProps) {
  const text = utf8(octets) ?? '';
  if (view === 'image') return <Picture octets={octets} type={imageType(type) ?? ''} />;
  if (view === 'json') return <JsonTree value={parsedJson(text)} />;
  if (view === 'hex')
    return <CodeBlock code={hexDump(octets)} label={t('records.view_hex')} language="text" />;
  return <PlainText text={text} />;
}

/** The text, wrapped. A character that one cannot see, or that turns the direction of others, is a mark. */
function PlainText({ text }: { readonly text: string }) {
  const parts = visibleParts(text);
  const hidden = parts.filter(({ isMark }) => isMark).length;
  return (
    <>
      <div class="code-block">
        <pre class="wrap" tabIndex={0} role="group" aria-label={t('records.view_text')}>
          {parts.map((part, at) => (part.isMark ? <mark key={at}>{part.text}</mark> : part.text))}
        </pre>
        <CopyButton text={text} />
      </div>
      {hidden === 0 ? null : <p class="dim">{tn('records.hiddenCharacters', hidden)}</p>}
    </>
  );
}

/** As an `<img>` of a blob: nothing in an SVG runs there, and nothing is fetched. */
function Picture({ octets, type }: { readonly octets: Uint8Array<ArrayBuffer>; readonly type: string }) {
  const [url, setUrl] = useState<string | null>(null);
  const [isBroken, setBroken] = useState(false);
  const content = String(octets);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([octets], { type }));
    setUrl(made);
    setBroken(false);
    return () => URL.revokeObjectURL(made);
  }, [content, type]);
  if (isBroken) return <p>{t('records.noImage')}</p>;
  return url === null ? null : (
    <img class="picture" src={url} alt={t('records.imageOf')} onError={() => setBroken(true)} />
  );
}
