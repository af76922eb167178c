/** Usage on its way from a node. Some acknowledgements are lost: control has added the batch, and gets it again. */
import { BusError } from '../../../src/feed/bus/bus.ts';
import type { UsageSink } from '../../../src/feed/ports/usage-sink.ts';

/**
 * The sender repeats the batch: to whichever control process answers then, and from its spool when it was killed meanwhile.
 * @param isLost asked after control's transaction
 */
export function lostAcknowledgements(sink: UsageSink, isLost: () => boolean): UsageSink {
  return {
    async add(batch) {
      await sink.add(batch);
      if (isLost()) throw new BusError('disconnected');
    },
  };
}
