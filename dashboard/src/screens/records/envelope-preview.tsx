import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';
import { contentFormat, envelopeHead } from '../../../../src/protocol/query/envelope.ts';
import { bytes } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Explain } from '../../ui/explain.tsx';
import { queryName } from '../tokens/token-command.ts';
import { answerSize, envelopeOctets } from './envelope-size.ts';
import { utf8 } from './payload.ts';
import type { Draft, ReadDraft } from './record-draft.ts';

/** Letters of a query token. */
const TOKEN = 'x'.repeat(56);
const SHOWN = 80;

export interface EnvelopePreviewProps {
  readonly draft: Draft;
  readonly read: ReadDraft;
  readonly meta: Meta;
}

/** The envelope that will be answered, and whether it fits into one packet. */
export function EnvelopePreview({ draft, read, meta }: EnvelopePreviewProps) {
  const zone = meta.zones[0] ?? '';
  const { data, content_type, encoding, ttl_seconds } = read.fields;
  const format = contentFormat(content_type, new Map(Object.entries(meta.content_formats)));
  const head = envelopeHead(encoding, format, ttl_seconds);
  const octets = envelopeOctets(read.octets.length, encoding, format, ttl_seconds);
  const shown = encoding === 'plain' ? (utf8(read.octets) ?? '') : data;
  const size = answerSize(queryName(draft.key, TOKEN, zone), octets, zone);
  const fits = { both: 'records.fitsBoth', plain: 'records.fitsPlain', none: 'records.fitsNone' } as const;
  return (
    <details class="card" open>
      <summary>{t('records.envelope', { octets: bytes(octets) })}</summary>
      <p class="code wrap">
        {head}
        {shown.slice(0, SHOWN)}
        {shown.length > SHOWN ? '…' : ''}
      </p>
      <p class="dim">
        {t(fits[size.fits], { plain: bytes(size.plain), signed: bytes(size.signed) })}{' '}
        <Explain of="envelope" />
      </p>
    </details>
  );
}
