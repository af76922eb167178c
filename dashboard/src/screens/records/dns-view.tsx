import { useState } from 'preact/hooks';
import {
  bytesOf,
  type Meta,
  type NamespaceResource,
  type RecordResource,
} from '../../../../sdk/src/uqrp-sdk.ts';
import { useResource } from '../../data/resource.ts';
import { bytes, count, milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { queryName } from '../tokens/token-command.ts';
import { type DnsAnswer, showsWrite } from './dns-answer.ts';
import { answerSize, envelopeOctets } from './envelope-size.ts';
import { dropToken, heldToken, tokenFor } from './page-tokens.ts';

export interface DnsViewProps {
  readonly record: RecordResource;
  readonly namespace: NamespaceResource | undefined;
  readonly meta: Meta;
}

/** The same record as DNS answers it now. */
export function DnsView({ record, namespace, meta }: DnsViewProps) {
  const isOpen = namespace?.public_read === true;
  const [mayMake, setMayMake] = useState(false);
  const canAsk = namespace !== undefined && (isOpen || mayMake || heldToken(namespace.id) !== null);
  const answer = useResource(
    canAsk ? `dns ${record.id} ${record.updated_at}` : null,
    async (signal) => await askWithToken(meta, record.key, namespace!, signal),
    { freshMs: 0 },
  );
  const zone = meta.zones[0] ?? '';
  return (
    <>
      <p class="code wrap">
        {isOpen ? queryName(record.key, null, zone) : queryName(record.key, '…', zone)} TXT
      </p>
      {canAsk ? null : (
        <div class="note">
          <p>{t('records.needsToken')}</p>
          <div class="actions">
            <Button onClick={() => setMayMake(true)}>{t('records.makeToken')}</Button>
          </div>
        </div>
      )}
      {canAsk && answer.state === 'loading' ? <Loading label={t('records.askingDns')} /> : null}
      {answer.state === 'failed' ? <ErrorNote error={answer.error} again={answer.again} /> : null}
      {answer.state === 'ready' ? (
        <Answer answer={answer.value} record={record} zone={zone} isOpen={isOpen} again={answer.again} />
      ) : null}
    </>
  );
}

/** A token that was just made is known to the node some milliseconds later. */
const TRIES = 10;
const PAUSE_MS = 150;

/** A token that stays refused was revoked elsewhere: one more is made, once. */
async function askWithToken(
  meta: Meta,
  key: string,
  namespace: NamespaceResource,
  signal: AbortSignal,
): Promise<DnsAnswer> {
  const { askDns, pageReader } = await import('./ask-dns.ts');
  const reader = pageReader(meta);
  const held = heldToken(namespace.id);
  let token = await tokenFor(namespace);
  for (let tries = 1; ; tries += 1) {
    const answer = await askDns(reader, key, token, signal);
    if (answer.kind !== 'refused' || token === null || tries >= 2 * TRIES) return answer;
    if (tries === TRIES && token === held) {
      dropToken(token);
      token = await tokenFor(namespace);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

interface AnswerProps {
  readonly answer: DnsAnswer;
  readonly record: RecordResource;
  readonly zone: string;
  readonly isOpen: boolean;
  readonly again: () => void;
}

function Answer({ answer, record, zone, isOpen, again }: AnswerProps) {
  if (answer.kind === 'failed') return <ErrorNote error={answer.error} again={again} />;
  const ask = (
    <div class="actions">
      <Button onClick={again}>{t('records.askAgain')}</Button>
      <span class="dim">{t('records.askedIn', { ms: milliseconds(answer.ms) })}</span>
    </div>
  );
  if (answer.kind !== 'record') {
    return (
      <>
        <p class="note warn">{t(answer.kind === 'refused' ? 'records.dnsRefused' : 'records.dnsNothing')}</p>
        {ask}
      </>
    );
  }
  const { reading } = answer;
  const data = bytesOf(record);
  const isSame = showsWrite(reading, data, record.ttl_seconds);
  const octets = reading.data?.length ?? 0;
  const envelope = envelopeOctets(
    octets,
    record.encoding ?? 'b64',
    reading.format ?? '',
    reading.ttlHint ?? 0,
  );
  const size = answerSize(queryName(record.key, isOpen ? null : 'x'.repeat(56), zone), envelope, zone);
  const fits = { both: 'records.fitsBoth', plain: 'records.fitsPlain', none: 'records.fitsNone' } as const;
  return (
    <>
      <p>
        <Badge tone={isSame ? 'good' : 'warn'} text={t(isSame ? 'records.dnsSame' : 'records.dnsOther')} />
      </p>
      <dl class="facts">
        {[...reading.fields].map(([name, value]) => (
          <div key={name}>
            <dt class="code">{name}</dt>
            <dd class="code wrap">{value}</dd>
          </div>
        ))}
        <div>
          <dt class="code">d</dt>
          <dd>{bytes(octets)}</dd>
        </div>
        <div>
          <dt>{t('records.dnsTtl')}</dt>
          <dd>{reading.ttl === null ? '–' : count(reading.ttl)}</dd>
        </div>
        <div>
          <dt>{t('records.envelopeSize')}</dt>
          <dd>{bytes(envelope)}</dd>
        </div>
      </dl>
      <p class="dim">{t(fits[size.fits], { plain: bytes(size.plain), signed: bytes(size.signed) })}</p>
      {ask}
    </>
  );
}
