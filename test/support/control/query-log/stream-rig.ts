import assert from 'node:assert/strict';
import type { Store } from '../../../../src/store/store.ts';
import { type Customer, openWorld, type World } from '../../http/world.ts';
import { type EventReader, listen, openEvents } from './event-reader.ts';
import { addRows } from './log-rows.ts';

interface Setting {
  readonly world: World;
  readonly port: number;
  readonly customer: Customer;
  readonly namespace: { readonly id: string; readonly name: string };
  /** Opens a stream that closes after the scenario. */
  readonly open: (
    ...more: Parameters<typeof openEvents> extends [number, ...infer R] ? R : never
  ) => Promise<EventReader>;
  /** Adds rows until the stream sends one: it then follows the log. */
  readonly follows: (reader: EventReader) => Promise<void>;
}

/** @param prepare called before the server listens */
export async function withStreams(
  store: Store,
  run: (setting: Setting) => Promise<void>,
  prepare: (world: World) => void = () => {},
): Promise<void> {
  const world = await openWorld(store);
  prepare(world);
  const readers: EventReader[] = [];
  try {
    const port = await listen(world);
    const customer = await world.customer();
    const namespace = await customer.namespace();
    const open: Setting['open'] = async (...more) => {
      const reader = await openEvents(port, ...more);
      readers.push(reader);
      return reader;
    };
    const follows = async (reader: EventReader): Promise<void> => {
      const first = reader.next();
      let isFollowing = false;
      void first.then(() => {
        isFollowing = true;
      });
      while (!isFollowing) {
        await addRows(world, namespace.id, [{ ago: 0 }]);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    await run({ world, port, customer, namespace, open, follows });
    assert.deepEqual(world.errors, []);
  } finally {
    for (const reader of readers) reader.close();
    await world.close();
  }
}

/** The next event whose row has this duration: those before are of `follows`. */
export async function rowOf(reader: EventReader, durationMs: number) {
  for (;;) {
    const [event] = await reader.take(1);
    if (event?.data.duration_ms === durationMs) return event;
  }
}
