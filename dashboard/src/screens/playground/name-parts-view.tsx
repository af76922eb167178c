import { type TextKey, t } from '../../text/text.ts';
import { type NameState, type PartKind, partsOfName, stateOfName } from './name-parts.ts';

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
  short: 'playground.stateShort',
  outside: 'playground.stateOutside',
  E001: 'playground.stateE001',
  E002: 'playground.stateE002',
  E003: 'playground.stateE003',
};

/** The labels of a name in colours, each with what it is. */
export function NameParts({ name, zones }: { name: string; zones: readonly string[] }) {
  const state = stateOfName(name, zones);
  return (
    <>
      <ul class="parts" aria-label={t('playground.parts')}>
        {partsOfName(name, zones).map(({ kind, text }, at) => (
          <li key={at} class={`part p-${kind}`}>
            <span class="code">{text}</span>
            <small>{t(KINDS[kind])}</small>
          </li>
        ))}
      </ul>
      <p class={state === 'query' ? 'field-help' : 'field-error'} role="status">
        {t(STATES[state])}
      </p>
    </>
  );
}
