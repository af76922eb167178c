/** The chain of trust of an answer: the parent's DS record, the keys of the zone, and the records, with what joins them. */
import { algorithmName, type SignatureCheck, typeName } from '../../../../sdk/src/dns.ts';
import { t } from '../../text/text.ts';
import type { Arrived } from './asked.ts';
import { type Examined, isFailure } from './examined.ts';

/** `open`: not compared, not signed, or not checked. */
export type LinkState = 'good' | 'bad' | 'open';

export interface ChainStep {
  /** `DS`, `KSK`, `ZSK`, or the type of the records. */
  readonly name: string;
  readonly detail: string;
  /** What joins it to the step before; null at the first one. */
  readonly link: { readonly state: LinkState; readonly text: string } | null;
}

/** Before anything was asked. */
export const EMPTY_CHAIN: readonly ChainStep[] = [
  { name: 'DS', detail: t('playground.chainParent'), link: null },
  { name: 'KSK', detail: t('playground.chainKsk'), link: { state: 'open', text: '' } },
  { name: 'ZSK', detail: t('playground.chainZsk'), link: { state: 'open', text: '' } },
  { name: 'TXT', detail: t('playground.chainRecords'), link: { state: 'open', text: '' } },
];

/** Null: the name lies in no zone of this server, or the zone has no keys. */
export function chainOf({ asked }: Arrived, examined: Examined): readonly ChainStep[] | null {
  const { keys, check } = examined;
  if (asked.zone === null || keys === null || keys.ds.length === 0) return null;
  const entries = new Set(keys.ds.map(({ tag }) => tag));
  const signers = signersOf([...keys.signatures, ...(check?.signatures ?? [])]);
  const others = signers.filter(({ tag }) => !entries.has(tag));
  const areKeysGood = keys.signatures.length > 0 && keys.signatures.every(({ isValid }) => isValid);
  const isAnchored = keys.isAnchored;
  const steps: ChainStep[] = [
    { name: 'DS', detail: t('playground.chainParent'), link: null },
    {
      name: 'KSK',
      detail: keysText(keys.ds),
      link: {
        state: isAnchored === null ? 'open' : stateOf(isAnchored),
        text: t(
          isAnchored === null
            ? 'playground.linkNotCompared'
            : isAnchored
              ? 'playground.linkNames'
              : 'playground.linkNamesNot',
        ),
      },
    },
  ];
  if (others.length > 0) {
    const text = t(areKeysGood ? 'playground.linkSigns' : 'playground.linkBroken');
    steps.push({ name: 'ZSK', detail: keysText(others), link: { state: stateOf(areKeysGood), text } });
  }
  return [...steps, recordsStep(asked.type, examined)];
}

function recordsStep(asked: string, { message, check }: Examined): ChainStep {
  const signed = check?.signatures.find(({ record }) => record.section === 'answer') ?? check?.signatures[0];
  const name = signed === undefined ? asked : typeName(signed.rrsig.covered);
  const isUnsigned = message !== null && (isFailure(message) || check?.result === 'unsigned');
  if (isUnsigned)
    return {
      name,
      detail: t('playground.chainRecords'),
      link: { state: 'open', text: t('playground.linkNone') },
    };
  if (check?.result === 'not_checked')
    return {
      name,
      detail: t('playground.chainRecords'),
      link: { state: 'open', text: t('playground.linkUnchecked') },
    };
  const isGood = check?.result === 'valid';
  return {
    name,
    detail: t('playground.chainRecords'),
    link: { state: stateOf(isGood), text: t(isGood ? 'playground.linkSigns' : 'playground.linkBroken') },
  };
}

interface Signer {
  readonly tag: number;
  readonly algorithm: number;
}

/** The keys that signatures name, each once. */
function signersOf(signatures: readonly SignatureCheck[]): readonly Signer[] {
  const byTag = new Map(signatures.map(({ rrsig }) => [rrsig.keyTag, rrsig.algorithm]));
  return [...byTag].map(([tag, algorithm]) => ({ tag, algorithm }));
}

function stateOf(isGood: boolean): LinkState {
  return isGood ? 'good' : 'bad';
}

function keysText(keys: readonly Signer[]): string {
  return keys.map(({ tag, algorithm }) => `${tag} · ${shortAlgorithm(algorithm)}`).join(', ');
}

/** `ECDSA P-256`: the digest goes without saying. */
export function shortAlgorithm(algorithm: number): string {
  return algorithmName(algorithm).replace(/ with SHA-\d+$/, '');
}
