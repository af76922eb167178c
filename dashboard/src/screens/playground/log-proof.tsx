import { useEffect, useState } from 'preact/hooks';
import { textFields } from '../../../../sdk/src/dns.ts';
import {
  type LogProofCheck,
  type ReadProof,
  readLogProof,
  verifyLogProof,
} from '../../../../sdk/src/transparency.ts';
import { decodeBase64, encodeBase64 } from '../../../../src/protocol/encodings.ts';
import { useResource } from '../../data/resource.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextArea } from '../../ui/field.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Time } from '../../ui/time.tsx';
import { askTexts } from '../datasets/ask-texts.ts';

export interface LogProofProps {
  /** Value of the TXT record. */
  readonly txt: string;
  readonly zone: string;
}

/** The proof in an answer of the transparency log, with the manifest that this server gives: drawn, and checked by a policy of the reader. */
export function LogProof({ txt, zone }: LogProofProps) {
  const fields = textFields(txt);
  const proof = new TextDecoder().decode(decodeBase64(fields.get('d') ?? '') ?? new Uint8Array(0));
  const label = `${fields.get('ds')}-v-${fields.get('ver')?.replaceAll('.', 'd')}`;
  const [policy, setPolicy] = useState('');
  const [checked, setChecked] = useState<LogProofCheck | null>(null);
  const read = useResource(`proof ${txt}`, async (signal) => {
    const [leaf = ''] = await askTexts(`manifest.${label}.datasets.public.v1.${zone}`, signal);
    return { leaf, shown: await readLogProof(leaf, proof) };
  });
  const leaf = read.state === 'ready' ? read.value.leaf : null;
  useEffect(() => {
    let isCurrent = true;
    setChecked(null);
    if (leaf !== null && policy.trim() !== '') {
      void verifyLogProof(leaf, proof, policy).then((result) => {
        if (isCurrent) setChecked(result);
      });
    }
    return () => {
      isCurrent = false;
    };
  }, [leaf, policy]);
  return (
    <section class="stack" aria-labelledby="log-proof">
      <h2 id="log-proof">{t('playground.proofLog')}</h2>
      <p>{t('playground.proofOnly')}</p>
      {read.state === 'loading' ? <Loading /> : null}
      {read.state === 'failed' ? <ErrorNote error={read.error} again={read.again} /> : null}
      {read.state !== 'ready' ? null : read.value.shown === null ? (
        <p>{t('playground.proofMalformed')}</p>
      ) : (
        <Drawn shown={read.value.shown} checked={checked} />
      )}
      <TextArea
        label={t('playground.proofPolicy')}
        value={policy}
        onInput={setPolicy}
        rows={3}
        isCode
        help={t('playground.proofPolicyHelp')}
      />
    </section>
  );
}

function Drawn({ shown, checked }: { readonly shown: ReadProof; readonly checked: LogProofCheck | null }) {
  const { origin, index, size, leafHash, path, leadsToRoot } = shown;
  const cosigners = checked?.valid ? checked.cosigners : shown.cosigners;
  return (
    <>
      <p role="status">
        <Verdict checked={checked} />
      </p>
      <p>{t('playground.proofEntry', { index: count(index), size: count(size), origin })}</p>
      <ol class="log-path" aria-label={t('playground.proofPath')}>
        <Node hash={leafHash} text={t('playground.proofLeaf')} />
        {path.map(({ side, sibling, node }, at) => (
          <Node
            key={at}
            hash={node}
            text={[
              t(side === 'left' ? 'playground.proofLeft' : 'playground.proofRight', { hash: short(sibling) }),
              ...(at === path.length - 1 && leadsToRoot ? [t('playground.proofRoot')] : []),
            ].join(', ')}
          />
        ))}
      </ol>
      <p>
        <Badge
          text={t(leadsToRoot ? 'playground.proofFits' : 'playground.proofFitsNot')}
          tone={leadsToRoot ? 'good' : 'bad'}
        />
      </p>
      {cosigners.length === 0 ? <p>{t('playground.proofNobody')}</p> : null}
      <ul class="signature-list">
        {cosigners.map(({ name, time }) => (
          <li key={`${name} ${time}`}>
            <span class="wrap">
              {t(checked?.valid ? 'playground.proofCosigned' : 'playground.proofClaimed', { name })}
            </span>{' '}
            <span class="dim">
              <Time at={time * 1000} form="exact" />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Verdict({ checked }: { readonly checked: LogProofCheck | null }) {
  if (checked === null) return <Badge text={t('playground.proofUnchecked')} tone="warn" />;
  return (
    <>
      <Badge
        text={t(checked.valid ? 'playground.valid' : 'playground.notValid')}
        tone={checked.valid ? 'good' : 'bad'}
      />{' '}
      {checked.valid ? t('playground.proofTrusted') : checked.reason}
    </>
  );
}

function Node({ hash, text }: { readonly hash: Uint8Array; readonly text: string }) {
  return (
    <li>
      <code>{short(hash)}</code> <span class="dim">{text}</span>
    </li>
  );
}

/** Enough of a hash to compare it by eye. */
function short(hash: Uint8Array): string {
  return `${encodeBase64(hash).slice(0, 12)}…`;
}
