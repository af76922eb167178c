import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../../src/base/time.ts';
import { type Bus, SUBJECTS } from '../../../../src/feed/bus/bus.ts';
import { writeHead } from '../../../../src/feed/message/batch.ts';
import { type FeedKeyRing, feedKeyRing } from '../../../../src/feed/message/keys.ts';
import type { ControlEnd, Rpc } from '../../../../src/feed/message/rpc.ts';
import type { LeaderLock } from '../../../../src/feed/ports/feed-store.ts';
import { startPublisher } from '../../../../src/feed/publish/publisher.ts';
import { startResponder } from '../../../../src/feed/publish/responder.ts';
import { openBusSource } from '../../../../src/feed/receive/bus-source.ts';
import { secrets, verifier } from '../batch/messages.ts';
import { controlEnd, keyOfAny, nodeEnd } from '../exchange/nodes.ts';
import { createFakeSource } from '../fake-source.ts';
import type { SourceWorld } from '../source-suite.ts';

export const testSecrets = { ...secrets, random: (octets: number) => randomBytes(octets) };

export const testKeys: FeedKeyRing = feedKeyRing([secrets.key]);

/** Control's end, for nodes of any name. */
export function testEnd(bus: Bus, clock: Clock): ControlEnd {
  return controlEnd(bus, {
    verifierOf: keyOfAny,
    signing: testSecrets,
    secrets: () => testSecrets,
    clock,
  });
}

/** The end of a node, by any name. */
export function testRpc(bus: Bus, name: string, clock: Clock): Rpc {
  return nodeEnd(bus, name, { clock, random: testSecrets.random });
}

/** A lock that nobody else wants. */
export const freeLock: LeaderLock = {
  acquire: async () => ({ lost: new AbortController().signal, release: async () => {} }),
};

export interface Carrier {
  readonly control: Bus;
  readonly node: Bus;
  /** Removes the whole stream. */
  purge(): Promise<void>;
  /** Ends the connection of the node. */
  cut(): Promise<void>;
  close(): Promise<void>;
}

/** A source in memory, published and answered for over a bus, and read at its other end. */
export async function busSourceWorld(carrier: Carrier, clock: Clock): Promise<SourceWorld> {
  const { control, node } = carrier;
  const origin = createFakeSource(50, clock);
  // Heartbeats come when the test says so.
  const heartbeatMs = 3_600_000;
  // The tests' clock stands still; what control says later must have a later time.
  let ticks = 0;
  const controlClock: Clock = () => clock() + ++ticks;
  const publisher = startPublisher({
    source: origin,
    bus: control,
    lock: freeLock,
    secrets: () => testSecrets,
    verifier,
    clock: controlClock,
    heartbeatMs,
    pollMs: 60_000,
  });
  const stopAnswers = startResponder({
    source: origin,
    end: testEnd(control, controlClock),
  });
  const source = openBusSource({
    bus: node,
    rpc: testRpc(node, 'fra1', clock),
    verifier,
    keys: () => testKeys,
    clock,
  });
  await until(() => publisher.status().seq !== null);
  // The broker handles the messages of a connection in order: it knows the subscriptions now.
  await Promise.all([control.readLast(), node.readLast()]);

  async function contact(): Promise<void> {
    const bounds = await origin.bounds();
    const heard = new Promise<void>((resolve) => {
      const stop = node.subscribe(SUBJECTS.head, () => {
        stop();
        resolve();
      });
    });
    await node.readLast();
    control.publish(SUBJECTS.head, writeHead({ ...bounds, at: controlClock() }, testSecrets));
    await heard;
  }

  return {
    source,
    async write(...bodies) {
      const { head } = await origin.bounds();
      const last = head + bodies.length;
      const heard = new Promise<void>((resolve) => {
        const stop = source.onChange((seq) => {
          if (seq < last) return;
          stop();
          resolve();
        });
      });
      origin.write(...bodies);
      await heard;
      await until(() => publisher.status().unconfirmed === 0);
    },
    async renew(...bodies) {
      origin.epoch = 'second';
      origin.write(...bodies);
      await contact();
      return origin.epoch;
    },
    async prune(seq) {
      origin.prune(seq);
      await carrier.purge();
      await contact();
    },
    contact,
    cut: () => carrier.cut(),
    async close() {
      source.close();
      stopAnswers();
      await publisher.stop();
      await carrier.close();
    },
  };
}

/** Resolves once it is so. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
}
