import {
  type AnswerCheck,
  type AnswerFault,
  type AnswerResult,
  rcodeName,
  type SignatureCheck,
  type SignatureReason,
  typeName,
} from '../../../../sdk/src/dns.ts';
import { date } from '../../format/format.ts';
import { type TextKey, t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { TextArea } from '../../ui/field.tsx';
import type { Arrived } from './asked.ts';
import { chainOf, shortAlgorithm } from './chain.ts';
import { ChainView } from './chain-view.tsx';
import { type Examined, isFailure } from './examined.ts';

const REASONS: Readonly<Record<SignatureReason, TextKey>> = {
  valid: 'playground.reasonValid',
  no_match: 'playground.reasonNoMatch',
  expired: 'playground.reasonExpired',
  not_yet_valid: 'playground.reasonNotYet',
  no_key: 'playground.reasonNoKey',
  no_records: 'playground.reasonNoRecords',
  wrong_signer: 'playground.reasonSigner',
  wrong_labels: 'playground.reasonLabels',
  wrong_ttl: 'playground.reasonTtl',
  unsupported: 'playground.reasonUnsupported',
  too_many: 'playground.reasonTooMany',
};

const FAULTS: Readonly<Record<AnswerFault, TextKey>> = {
  not_a_reply: 'playground.faultNotReply',
  wrong_id: 'playground.faultId',
  wrong_question: 'playground.faultQuestion',
  wrong_flags: 'playground.faultFlags',
  cut_off: 'playground.faultCut',
  error_with_records: 'playground.faultError',
  unsigned_records: 'playground.faultUnsigned',
  other_records: 'playground.faultOther',
  no_proof: 'playground.faultProof',
  padding: 'playground.faultPadding',
};

const RESULTS: Readonly<Record<AnswerResult, TextKey>> = {
  valid: 'playground.resultValid',
  not_valid: 'playground.resultNot',
  unsigned: 'playground.resultUnsigned',
  not_checked: 'playground.resultUnchecked',
};

export interface SignaturesRegionProps {
  readonly arrived: Arrived;
  readonly examined: Examined;
  /** Octets of it were changed in this page. */
  readonly isChanged: boolean;
  readonly trustedDs: string;
  readonly onTrustedDs: (text: string) => void;
}

/** The chain of trust, every signature of the answer and of the zone's keys, and the DS records that they lead to. */
export function SignaturesRegion(props: SignaturesRegionProps) {
  const { arrived, examined, isChanged, trustedDs, onTrustedDs } = props;
  const { check, message } = examined;
  const { zone, dnssecOk } = arrived.asked;
  const steps = chainOf(arrived, examined);
  return (
    <section aria-labelledby="signatures" class="signatures">
      <h2 id="signatures">{t('playground.signatures')}</h2>
      {steps === null ? null : <ChainView steps={steps} />}
      {message === null || check === null ? (
        <p>
          <Badge text={t('playground.notValid')} tone="bad" /> {t('playground.faultUnreadable')}
        </p>
      ) : isFailure(message) ? (
        <p>{t('playground.resultFailure', { code: rcodeName(message.rcode) })}</p>
      ) : (
        <Checked check={check} isChanged={isChanged} />
      )}
      {dnssecOk ? null : <p>{t('playground.noDo')}</p>}
      {zone === null ? null : (
        <Keys examined={examined} zone={zone} trustedDs={trustedDs} onTrustedDs={onTrustedDs} />
      )}
    </section>
  );
}

interface CheckedProps {
  readonly check: AnswerCheck;
  readonly isChanged: boolean;
}

function Checked({ check: { result, signatures, faults }, isChanged }: CheckedProps) {
  const text = result === 'not_valid' && isChanged ? 'playground.resultChanged' : RESULTS[result];
  return (
    <>
      <p>{t(text)}</p>
      {faults.map((fault) => (
        <p key={fault}>
          <Badge text={t('playground.notValid')} tone="bad" /> {t(FAULTS[fault])}
        </p>
      ))}
      <SignatureList signatures={signatures} />
    </>
  );
}

function SignatureList({ signatures }: { readonly signatures: readonly SignatureCheck[] }) {
  if (signatures.length === 0) return null;
  return (
    <ul class="signature-list">
      {signatures.map(({ record, rrsig, isValid, reason }) => (
        <li key={record.from}>
          {reason === 'unsupported' ? (
            <Badge text={t('playground.notChecked')} tone="warn" />
          ) : (
            <Badge
              text={t(isValid ? 'playground.valid' : 'playground.notValid')}
              tone={isValid ? 'good' : 'bad'}
            />
          )}
          <span>
            {t('playground.signature', {
              algorithm: shortAlgorithm(rrsig.algorithm),
              type: typeName(rrsig.covered),
              tag: rrsig.keyTag,
            })}{' '}
            <span class="dim">
              {isValid
                ? t('playground.signedUntil', { until: date(rrsig.expiration * 1000) })
                : t(REASONS[reason])}
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}

interface KeysProps {
  readonly examined: Examined;
  readonly zone: string;
  readonly trustedDs: string;
  readonly onTrustedDs: (text: string) => void;
}

function Keys({ examined: { keys, keysFailure }, zone, trustedDs, onTrustedDs }: KeysProps) {
  if (keysFailure !== null) return <p>{t('playground.keysFailed', { zone, code: keysFailure })}</p>;
  if (keys === null) {
    return (
      <p>
        <Badge text={t('playground.notValid')} tone="bad" /> {t('playground.keysUnreadable', { zone })}
      </p>
    );
  }
  if (keys.ds.length === 0 && keys.signatures.length === 0)
    return <p>{t('playground.zoneUnsigned', { zone })}</p>;
  return (
    <>
      <h3>{t('playground.keys', { zone })}</h3>
      <SignatureList signatures={keys.signatures} />
      {keys.result === 'not_valid' ? (
        <p>
          <Badge text={t('playground.notValid')} tone="bad" /> {t('playground.keysBad')}
        </p>
      ) : null}
      <details>
        <summary>{t('playground.trust')}</summary>
        <div class="stack">
          <CodeBlock code={keys.ds.map(({ text }) => text).join('\n')} label="DS" language="text" />
          <p class="field-help">{t('playground.dsHelp')}</p>
          <TextArea
            label={t('playground.trustedDs')}
            value={trustedDs}
            onInput={onTrustedDs}
            rows={2}
            isCode
            help={t('playground.trustHelp')}
          />
          {keys.isAnchored === null ? null : (
            <p role="status">
              <Badge
                text={t(keys.isAnchored ? 'playground.anchored' : 'playground.notAnchored')}
                tone={keys.isAnchored ? 'good' : 'bad'}
              />
            </p>
          )}
        </div>
      </details>
    </>
  );
}
