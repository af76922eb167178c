import { type TextKey, t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
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

/** Ten questions to try, and what to look at in the answer of the chosen one. */
export function ExperimentsList({ chosen, onChoose }: ExperimentsListProps) {
  return (
    <section aria-labelledby="experiments" class="stack">
      <h2 id="experiments">{t('playground.experiments')}</h2>
      <div class="actions">
        {EXPERIMENT_IDS.map((id) => (
          <Button key={id} isPressed={id === chosen} onClick={() => onChoose(id)}>
            {t(TEXTS[id].title)}
          </Button>
        ))}
      </div>
      {chosen === null ? null : (
        <p class="note" role="status">
          {t(TEXTS[chosen].look)}
        </p>
      )}
    </section>
  );
}
