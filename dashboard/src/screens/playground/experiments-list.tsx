import { type TextKey, t } from '../../text/text.ts';
import { EXPERIMENT_IDS, type ExperimentId } from './experiments.ts';

const TEXTS: Readonly<Record<ExperimentId, { readonly title: TextKey; readonly look: TextKey }>> = {
  units: { title: 'playground.tryUnits', look: 'playground.lookUnits' },
  case: { title: 'playground.tryCase', look: 'playground.lookCase' },
  truncation: { title: 'playground.tryTruncation', look: 'playground.lookTruncation' },
  version: { title: 'playground.tryVersion', look: 'playground.lookVersion' },
  private: { title: 'playground.tryPrivate', look: 'playground.lookPrivate' },
  expired: { title: 'playground.tryExpired', look: 'playground.lookExpired' },
  info: { title: 'playground.tryInfo', look: 'playground.lookInfo' },
  sun: { title: 'playground.trySun', look: 'playground.lookSun' },
  signatures: { title: 'playground.trySignatures', look: 'playground.lookSignatures' },
  negative: { title: 'playground.tryNegative', look: 'playground.lookNegative' },
};

export interface ExperimentsListProps {
  readonly chosen: ExperimentId | null;
  readonly onChoose: (id: ExperimentId) => void;
}

/** Ten questions to try. */
export function ExperimentsList({ chosen, onChoose }: ExperimentsListProps) {
  return (
    <section aria-labelledby="experiments" class="stack">
      <h2 id="experiments">{t('playground.experiments')}</h2>
      <div class="chips">
        {EXPERIMENT_IDS.map((id) => (
          <button
            key={id}
            type="button"
            class="chip"
            aria-pressed={id === chosen}
            onClick={() => onChoose(id)}
          >
            {t(TEXTS[id].title)}
          </button>
        ))}
      </div>
    </section>
  );
}

/** What to look at in the answer of an experiment. */
export function ExperimentNote({ chosen }: { readonly chosen: ExperimentId }) {
  return <p class="note">{t(TEXTS[chosen].look)}</p>;
}
