/** Usage over the bus without signatures and encryption, for the seeds that have none. Whole seeds use `feed/nodes/meter.ts`. */
import { type Bus, SUBJECTS } from '../../src/feed/bus/bus.ts';
import type { UsageBatch, UsageSink } from '../../src/feed/ports/usage-sink.ts';

const ACK_MS = 2_000;
const subjectOf = (node: string): string => `${SUBJECTS.meter}.${node}`;

export function plainMeter(bus: Bus, nodes: readonly string[], usage: UsageSink): void {
  for (const node of nodes) {
    bus.respond(subjectOf(node), async (data) => {
      let batch: UsageBatch;
      try {
        batch = JSON.parse(Buffer.from(data).toString()) as UsageBatch;
      } catch {
        // Torn on its way.
        return null;
      }
      await usage.add(batch);
      return Buffer.from(batch.batch);
    });
  }
}

export function plainUsageSink(bus: Bus): UsageSink {
  return {
    async add(batch) {
      const answer = await bus.request(subjectOf(batch.node), Buffer.from(JSON.stringify(batch)), ACK_MS);
      if (Buffer.from(answer).toString() !== batch.batch) throw new Error('a torn answer');
    },
  };
}
