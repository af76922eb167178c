/** Usage on its way from a node: a batch is lost, or control has added it, and gets it again. */
import { BusError } from '../../../src/feed/bus/bus.ts';
import type { UsageSink } from '../../../src/feed/ports/usage-sink.ts';

/** What is lost; null: nothing. */
export type UsageLoss = 'batch' | 'acknowledgement' | null;

/**
 * The sender repeats the batch: to whichever control process answers then, and from its spool when it was killed meanwhile.
 * @param loss asked for each batch: before control's transaction, and after it
 */
export function lossyUsage(sink: UsageSink, loss: () => UsageLoss): UsageSink {
  return {
    async add(batch) {
      const lost = loss();
      if (lost !== 'batch') await sink.add(batch);
      if (lost !== null) throw new BusError('disconnected');
    },
  };
}
