import type { DnsMessage } from '../../../../sdk/src/dns.ts';
import { bytes } from '../../format/format.ts';
import { type TextKey, t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
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

/** The fields of the envelope in the TXT record. */
export function EnvelopeView({ message }: { readonly message: DnsMessage }) {
  const read = envelopeOf(message);
  if (read === null) return <p>{t('playground.noEnvelope')}</p>;
  if (read.kind === 'other')
    return <CodeBlock code={read.text} label={t('playground.text')} language="text" />;
  if (read.kind === 'error')
    return <p class="note warn">{t('playground.errorEnvelope', { text: read.message })}</p>;
  const { fields, data } = read.envelope;
  return (
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
      {data === null ? null : (
        <div>
          <dt class="code">d</dt>
          <dd>
            {bytes(data.length)} <span class="dim">{t('playground.fieldD')}</span>
          </dd>
        </div>
      )}
    </dl>
  );
}
