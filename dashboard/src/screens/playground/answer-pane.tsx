import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type DnsMessage, decodeMessage } from '../../../../sdk/src/dns.ts';
import { TINDEX_VERSION } from '../../../../src/base/brand.ts';
import { t } from '../../text/text.ts';
import { lazy } from '../../ui/lazy.tsx';
import { AnswerRegion } from './answer-region.tsx';
import type { Arrived } from './asked.ts';
import { chainOf, EMPTY_CHAIN } from './chain.ts';
import { ChainView } from './chain-view.tsx';
import { type Examined, examine, isFailure, placeToChange, withChanges } from './examined.ts';
import { headlineOf } from './headline.ts';
import { envelopeOf } from './read-envelope.ts';
import { SignaturesRegion } from './signatures-region.tsx';
import { verdictOf } from './verdict.ts';

const LogProof = lazy(async () => (await import('./log-proof.tsx')).LogProof);
const AnswerDetails = lazy(async () => (await import('./answer-details.tsx')).AnswerDetails);

const NONE: ReadonlySet<number> = new Set();

interface Shown {
  readonly arrived: Arrived;
  readonly octets: Uint8Array;
  readonly changes: ReadonlySet<number>;
  readonly examined: Examined;
}

export interface AnswerPaneProps {
  /** Null: nothing was asked yet. */
  readonly arrived: Arrived | null;
  /** To compare with; null: nothing. */
  readonly compared: Arrived | null;
  /** An answer to what is being typed is not read out. */
  readonly isQuiet: boolean;
  /** It comes with one octet changed. */
  readonly isTampered: boolean;
  readonly isBusy: boolean;
  /** Another answer is in the page. */
  readonly onShown: () => void;
  /** Above the answer. */
  readonly children: ComponentChildren;
}

/** The answer, the check of its signatures, and its parts. What is changed in it here is checked at once. */
export function AnswerPane(props: AnswerPaneProps) {
  const { arrived, compared, isQuiet, isTampered, isBusy, onShown, children } = props;
  const [changed, setChanged] = useState({ of: 0, places: NONE });
  const untouched = useMemo(
    () => (arrived !== null && isTampered ? changedAtFirst(arrived) : NONE),
    [arrived, isTampered],
  );
  const [trustedDs, setTrustedDs] = useState('');
  const [shown, setShown] = useState<Shown | null>(null);
  // Changes are of one answer: another one comes as it is, or as the address of the page wants it.
  const changes = changed.of === arrived?.id ? changed.places : untouched;
  useEffect(() => {
    if (arrived === null) {
      setShown(null);
      return;
    }
    let isCurrent = true;
    const octets = withChanges(arrived.octets, changes);
    void examine(arrived, octets, trustedDs).then((examined) => {
      if (isCurrent) setShown({ arrived, octets, changes, examined });
    });
    return () => {
      isCurrent = false;
    };
  }, [arrived, changes, trustedDs]);
  const spoken = useMemo(() => (shown === null ? '' : spokenOf(shown)), [shown]);
  useEffect(() => {
    if (shown !== null) onShown();
    // Once for each answer, and not for each change of it.
  }, [shown?.arrived]);
  const toggle = (at: number): void => {
    if (arrived === null) return;
    const places = new Set(changes);
    if (!places.delete(at)) places.add(at);
    setChanged({ of: arrived.id, places });
  };
  const proof = shown?.examined.message ? proofTxtOf(shown.examined.message) : null;
  const restore = (): void => setChanged({ of: arrived?.id ?? 0, places: NONE });
  return (
    <div class="answer-pane" aria-busy={isBusy}>
      <p class="hidden" role="status">
        {isQuiet && changes.size === 0 ? '' : spoken}
      </p>
      {children}
      {shown === null ? (
        <div class="answer-empty">
          <p>{t('playground.empty')}</p>
          <ChainView steps={EMPTY_CHAIN} />
        </div>
      ) : (
        <>
          <AnswerRegion
            arrived={shown.arrived}
            examined={shown.examined}
            octets={shown.octets}
            changes={shown.changes}
            onTamper={() => toggle(placeToChange(shown.arrived.octets))}
            onRestore={restore}
          />
          <SignaturesRegion
            arrived={shown.arrived}
            examined={shown.examined}
            isChanged={shown.changes.size > 0}
            trustedDs={trustedDs}
            onTrustedDs={setTrustedDs}
          />
          {proof === null ? null : <LogProof key={proof} txt={proof} zone={shown.arrived.asked.zone ?? ''} />}
          <AnswerDetails
            arrived={shown.arrived}
            octets={shown.octets}
            message={shown.examined.message}
            steps={chainOf(shown.arrived, shown.examined)}
            changes={shown.changes}
            compared={compared}
            onToggle={toggle}
            onRestore={restore}
          />
        </>
      )}
    </div>
  );
}

/** The TXT value of a proof of the transparency log; null in every other answer. */
function proofTxtOf(message: DnsMessage): string | null {
  const text = envelopeOf(message)?.text ?? '';
  return text.startsWith(`v=${TINDEX_VERSION};ds=`) ? text : null;
}

/** The octet that shows most; none in a failure, where nothing is signed. */
function changedAtFirst({ octets }: Arrived): ReadonlySet<number> {
  try {
    return isFailure(decodeMessage(octets)) ? NONE : new Set([placeToChange(octets)]);
  } catch {
    return NONE;
  }
}

function spokenOf({ arrived, examined, changes }: Shown): string {
  const { text } = verdictOf(examined, arrived.times[0], changes.size > 0);
  const words = examined.message === null ? null : headlineOf(examined.message);
  return words === null ? text : `${words.headline}. ${text}`;
}
