import type { Outcome } from '../../protocol/query/outcome.ts';
import type { Service } from '../service.ts';

/** Labels with a cached answer. */
const LABELS_MAX = 4096;

/** Caches the answers of a service by label. Questions that miss the packet cache (case, EDNS, zone) reuse place and envelope. */
export function remembered(service: Service): Service {
  const kept = new Map<string, Extract<Outcome, { kind: 'answer' }>>();

  function keep(label: string, outcome: Outcome, now: number): Outcome {
    if (outcome.kind === 'answer' && outcome.until > now) {
      kept.set(label, outcome);
      if (kept.size > LABELS_MAX) {
        const { value: first, done } = kept.keys().next();
        if (done !== true) kept.delete(first);
      }
    }
    return outcome;
  }

  return {
    ...service,
    answer(params, now) {
      const [label] = params;
      if (label === undefined || params.length > 1) return service.answer(params, now);
      const known = kept.get(label);
      if (known !== undefined) {
        if (now < known.until) return known;
        kept.delete(label);
      }
      const outcome = service.answer(params, now);
      return outcome instanceof Promise
        ? outcome.then((late) => keep(label, late, now))
        : keep(label, outcome, now);
    },
  };
}
