import type { DnsMessage } from '../../../../sdk/src/dns.ts';
import { bytes } from '../../format/format.ts';
import { valueWords } from '../../format/value-words.ts';
import { type TextKey, t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { JsonTree } from '../../ui/json-tree.tsx';
import { utf8 } from '../records/payload.ts';
import { envelopeOf } from './read-envelope.ts';

/** Fields of every envelope (docs/PROTOCOL.md). */
const FIELDS: Readonly<Record<string, TextKey>> = {
  v: 'playground.fieldV',
  s: 'playground.fieldS',
  t: 'playground.fieldT',
  e: 'playground.fieldE',
  f: 'playground.fieldF',
  ttl: 'playground.fieldTtl',
  ts: 'playground.fieldTs',
};

/** The envelope of the TXT record, taken apart. */
export function EnvelopeView({ message }: { message: DnsMessage }) {
  const read = envelopeOf(message);
  if (read === null) return null;
  if (read.kind === 'other')
    return <CodeBlock code={read.text} label={t('playground.text')} language="text" />;
  if (read.kind === 'error')
    return <p class="note warn">{t('playground.errorEnvelope', { text: read.message })}</p>;
  const { fields, data, format } = read.envelope;
  const words = data === null ? valueWords(fields) : null;
  return (
    <section class="stack" aria-labelledby="envelope">
      <h3 id="envelope">{t('playground.envelope')}</h3>
      {words === null ? null : (
        <p>
          <strong>{words.headline}</strong> <span class="dim">{words.detail}</span>
        </p>
      )}
      <dl class="fields">
        {[...fields].map(([name, value]) => (
          <div key={name}>
            <dt class="code">{name}</dt>
            <dd>
              <span class="code">{value}</span>{' '}
              {FIELDS[name] === undefined ? null : <span class="dim">{t(FIELDS[name])}</span>}
            </dd>
          </div>
        ))}
      </dl>
      {data === null ? null : <Data data={data} format={format} />}
    </section>
  );
}

function Data({ data, format }: { data: Uint8Array; format: string | null }) {
  const text = utf8(data);
  if (text === null) return <p>{t('playground.binary', { size: bytes(data.length) })}</p>;
  const json = format === 'json' ? parsed(text) : undefined;
  if (json !== undefined) return <JsonTree value={json} />;
  return <CodeBlock code={text} label={t('playground.data')} language="text" />;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
