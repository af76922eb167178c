import assert from 'node:assert/strict';
import { BusError, SUBJECTS } from '../../../../src/feed/bus/bus.ts';
import { openBatch } from '../../../../src/feed/message/batch.ts';
import { type FeedRefusal, FeedRefusedError } from '../../../../src/feed/ports/refusal.ts';
import {
  type Publisher,
  type PublisherEvent,
  startPublisher,
} from '../../../../src/feed/publish/publisher.ts';
import { startResponder } from '../../../../src/feed/publish/responder.ts';
import { type BusSource, openBusSource } from '../../../../src/feed/receive/bus-source.ts';
import { createManualTimers, type ManualTimers } from '../../base/lifecycle/manual-timers.ts';
import { createMemoryView, type MemoryView } from '../../view/memory-view.ts';
import { verifier } from '../batch/messages.ts';
import { createFakeSource, type FakeSource } from '../fake-source.ts';
import { createTestLock, type TestLock } from '../publisher-lock.ts';
import { testEnd, testKeys, testRpc, testSecrets } from './bus-source-world.ts';
import { createMemoryBroker, type MemoryBroker } from './memory-bus.ts';

export const START = 1_800_000_000_000;
const POLL_MS = 250;

export interface Node {
  readonly source: BusSource;
  readonly view: MemoryView;
  readonly refused: FeedRefusal[];
  readonly repairs: string[];
  stop(): void;
}

/** Publishers, a broker and nodes in one process, on a clock that the test turns. The same seed gives the same run. */
export interface FeedWorld {
  readonly timers: ManualTimers;
  readonly origin: FakeSource;
  readonly broker: MemoryBroker;
  readonly lock: TestLock;
  readonly events: PublisherEvent[];
  readonly random: () => number;
  /** Milliseconds by which the clocks of the publishers are wrong. */
  controlClockError: number;
  /** Milliseconds by which the nodes' clocks are wrong. */
  nodeClockError: number;
  publish(name: string): Publisher;
  node(name: string): Node;
  /** Every batch of the stream follows the one before: no gap, no overlap. @returns its first and last change */
  streamLine(): { readonly from: number; readonly to: number } | null;
  close(): Promise<void>;
}

export function createFeedWorld(seed = 1): FeedWorld {
  const timers = createManualTimers();
  const clock = (): number => START + timers.now;
  const random = mulberry(seed);
  const broker = createMemoryBroker(random, timers);
  const origin = createFakeSource(50, clock);
  const lock = createTestLock();
  const events: PublisherEvent[] = [];
  const stops: (() => unknown)[] = [];

  const world: FeedWorld = {
    controlClockError: 0,
    nodeClockError: 0,
    timers,
    origin,
    broker,
    lock,
    events,
    random,
    publish(name) {
      const bus = broker.connect(name);
      const secrets = () => testSecrets;
      const controlClock = (): number => clock() + world.controlClockError;
      const onEvent = (event: PublisherEvent): number => events.push(event);
      const publisher = startPublisher({
        source: origin,
        bus,
        lock: lock.of(name),
        secrets,
        verifier,
        clock: controlClock,
        timers,
        onEvent,
      });
      const stopAnswers = startResponder({ source: origin, end: testEnd(bus, controlClock), timers });
      stops.push(stopAnswers, () => publisher.stop());
      return publisher;
    },
    node(name) {
      const node = startNode(name, { broker, timers, clock: () => clock() + world.nodeClockError });
      stops.push(() => node.stop());
      return node;
    },
    streamLine() {
      const batches = broker.stream.map(({ seq, data }) => ({ seq, ...openBatch(data, verifier) }));
      batches.forEach(({ seq, streamSeq, from }, i) => {
        assert.equal(streamSeq, seq, 'a batch states its place in the stream');
        if (i > 0) assert.equal(from, batches[i - 1]!.to + 1, 'a gap or an overlap in the stream');
      });
      const [first, last] = [batches[0], batches.at(-1)];
      return first === undefined || last === undefined ? null : { from: first.from, to: last.to };
    },
    async close() {
      const stopped = Promise.all(stops.map((stop) => stop()));
      await timers.advance(5_000);
      await stopped;
    },
  };
  return world;
}

/** Follows the source as the follower does: bounds, then changes, then the view; a snapshot where the cursor cannot go on. */
function startNode(
  name: string,
  { broker, timers, clock }: { broker: MemoryBroker; timers: ManualTimers; clock: () => number },
): Node {
  const refused: FeedRefusal[] = [];
  const repairs: string[] = [];
  const view = createMemoryView();
  let isStopped = false;
  let wake = (): void => {};
  const bus = broker.connect(name);
  const source = openBusSource({
    bus,
    rpc: testRpc(bus, name, clock),
    verifier,
    keys: () => testKeys,
    clock,
    timers,
    onRefused: (reason) => refused.push(reason),
    onRepair: (from) => repairs.push(from),
  });

  async function pass(): Promise<void> {
    const bounds = await source.bounds();
    const cursor = view.cursor();
    if (
      cursor === null ||
      view.epoch() !== bounds.epoch ||
      cursor < bounds.oldest - 1 ||
      cursor > bounds.head
    ) {
      const { epoch, seq, pages } = await source.openSnapshot();
      const rebuild = await view.rebuild();
      for await (const page of pages) await rebuild.load(page);
      await rebuild.finish([], seq, epoch);
    }
    for (;;) {
      const from = view.cursor()!;
      const changes = await source.since(view.epoch()!, from, 100);
      if (changes.length === 0) return;
      const seqs = changes.map(({ seq }) => seq);
      assert.deepEqual(
        seqs,
        seqs.map((_, i) => from + 1 + i),
        'changes come without a gap',
      );
      await view.apply(changes, from + changes.length);
    }
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      try {
        await pass();
      } catch (error) {
        if (!(error instanceof BusError || error instanceof FeedRefusedError)) throw error;
      }
      await new Promise<void>((resolve) => {
        const cancel = timers.after(POLL_MS, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
    }
  }

  source.onChange(() => wake());
  const failed = run();
  failed.catch((error: unknown) => {
    // An assertion of this file ends the test run with its message.
    process.nextTick(() => {
      throw error;
    });
  });
  return {
    source,
    view,
    refused,
    repairs,
    stop() {
      isStopped = true;
      source.close();
      wake();
    },
  };
}

/** `from-to` of every live batch from here on. */
export function liveBatches({ broker }: FeedWorld): string[] {
  const heard: string[] = [];
  broker.connect('listener').subscribe(SUBJECTS.live, (message) => {
    const { from, to } = openBatch(message, verifier);
    heard.push(`${from}-${to}`);
  });
  return heard;
}

/** Mulberry32: small, and the same everywhere. */
export function mulberry(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
