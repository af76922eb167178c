import { type TextKey, t } from '../../text/text.ts';
import { type NameState, type PartKind, partsOfName, stateOfName, withZone } from './name-parts.ts';

const KINDS: Readonly<Record<PartKind, TextKey>> = {
  operation: 'playground.partOperation',
  token: 'playground.partToken',
  param: 'playground.partParam',
  resource: 'playground.partResource',
  namespace: 'playground.partNamespace',
  version: 'playground.partVersion',
  zone: 'playground.partZone',
  other: 'playground.partOther',
};

const STATES: Readonly<Record<NameState, TextKey>> = {
  query: 'playground.stateQuery',
  bare: 'playground.stateBare',
  short: 'playground.stateShort',
  outside: 'playground.stateOutside',
  E001: 'playground.stateE001',
  E002: 'playground.stateE002',
  E003: 'playground.stateE003',
};

const STATE_CLASSES: { readonly [S in NameState]?: string } = { query: 'hidden', bare: 'field-help' };

export interface NamePartsProps {
  readonly name: string;
  readonly zones: readonly string[];
  /** A part was chosen: where its text begins in the name, and where it ends. */
  readonly onChoose: (from: number, to: number) => void;
}

/** The labels of a name in colours, each with what it is. A click on one goes to it in the field. */
export function NameParts({ name, zones, onChoose }: NamePartsProps) {
  const state = stateOfName(name, zones);
  const parts = partsOfName(withZone(name, zones), zones);
  let at = 0;
  return (
    <>
      <ul class="parts" aria-label={t('playground.parts')}>
        {(state === 'bare' ? parts.slice(0, -1) : parts).map(({ kind, text }, index) => {
          const from = at;
          at += text.length + 1;
          return (
            <li key={index}>
              <button
                type="button"
                class={`part p-${kind}`}
                title={t('playground.editPart')}
                onClick={() => onChoose(from, from + text.length)}
              >
                <span class="code">{text}</span> <small>{t(KINDS[kind])}</small>
              </button>
            </li>
          );
        })}
      </ul>
      <p class={STATE_CLASSES[state] ?? 'field-error'} role="status">
        {t(STATES[state], { zone: zones[0] ?? '', zones: zones.join(', ') })}
      </p>
    </>
  );
}
