import {
  type AnswerCheck,
  type AnswerFault,
  type AnswerResult,
  algorithmName,
  type KeysCheck,
  type SignatureCheck,
  type SignatureReason,
  typeName,
} from '../../../../sdk/src/dns.ts';
import { dateTime } from '../../format/format.ts';
import { type TextKey, t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { TextArea } from '../../ui/field.tsx';
import type { Arrived, Examined } from './asked.ts';

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
  readonly trustedDs: string;
  readonly onTrustedDs: (text: string) => void;
}

/** Every signature of the answer and of the zone's keys, and the DS records that they lead to. */
export function SignaturesRegion({ arrived, examined, trustedDs, onTrustedDs }: SignaturesRegionProps) {
  const { check, keys, message } = examined;
  const { zone } = arrived.asked;
  return (
    <section aria-labelledby="signatures" class="stack">
      <h2 id="signatures">{t('playground.signatures')}</h2>
      {message === null || check === null ? (
        <p>
          <Badge text={t('playground.notValid')} tone="bad" /> {t('playground.faultUnreadable')}
        </p>
      ) : (
        <Checked check={check} />
      )}
      {!arrived.asked.dnssecOk ? <p>{t('playground.noDo')}</p> : null}
      {zone === null ? null : (
        <Keys keys={keys} zone={zone} trustedDs={trustedDs} onTrustedDs={onTrustedDs} />
      )}
    </section>
  );
}

function Checked({ check: { result, signatures, faults } }: { check: AnswerCheck }) {
  return (
    <>
      <p role="status">{t(RESULTS[result])}</p>
      {faults.map((fault) => (
        <p key={fault}>
          <Badge text={t('playground.notValid')} tone="bad" /> {t(FAULTS[fault])}
        </p>
      ))}
      <SignatureList signatures={signatures} />
    </>
  );
}

function SignatureList({ signatures }: { signatures: readonly SignatureCheck[] }) {
  if (signatures.length === 0) return null;
  return (
    <ul class="plain-list">
      {signatures.map(({ record, rrsig, isValid, reason }) => (
        <li key={record.from}>
          {reason === 'unsupported' ? (
            <Badge text={t('playground.notChecked')} tone="warn" />
          ) : (
            <Badge
              text={t(isValid ? 'playground.valid' : 'playground.notValid')}
              tone={isValid ? 'good' : 'bad'}
            />
          )}{' '}
          {t('playground.signature', {
            algorithm: algorithmName(rrsig.algorithm),
            type: typeName(rrsig.covered),
            tag: rrsig.keyTag,
            until: dateTime(rrsig.expiration * 1000),
          })}{' '}
          <span class="dim">{t(REASONS[reason])}</span>
        </li>
      ))}
    </ul>
  );
}

interface KeysProps {
  readonly keys: KeysCheck | null;
  readonly zone: string;
  readonly trustedDs: string;
  readonly onTrustedDs: (text: string) => void;
}

function Keys({ keys, zone, trustedDs, onTrustedDs }: KeysProps) {
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
      <CodeBlock code={keys.ds.map(({ text }) => text).join('\n')} label="DS" language="text" />
      <p class="field-help">{t('playground.dsHelp')}</p>
      <details>
        <summary>{t('playground.trust')}</summary>
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
      </details>
    </>
  );
}
