import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIMITS } from '../../../../src/base/limits.ts';
import { AppendConflictError, type Bus, BusError, type BusState } from '../../../../src/feed/bus/bus.ts';

/** A broker with the means to disturb it. */
export interface BusWorld {
  /** Resolves when the end is connected. */
  connect(): Promise<Bus>;
  /** Removes the messages of the stream up to `seq`. */
  purge(seq: number): Promise<void>;
  /** The broker dies. What it stored stays. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

const REQUEST_MS = 2_000;
const text = (data: Uint8Array): string => Buffer.from(data).toString();
const bytes = (of: string): Uint8Array => Buffer.from(of);

/** Resolves when the end is in this state. */
export function inState(bus: Bus, state: BusState): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (bus.state() !== state) return;
      stop();
      resolve();
    };
    const stop = bus.onState(check);
    check();
  });
}

/** What every Bus must do. @param skip why it cannot be tested here, or null */
export function busSuite(name: string, create: () => Promise<BusWorld>, skip: string | null = null): void {
  describe(`bus: ${name}`, { skip: skip ?? false }, () => {
    const scenario = (title: string, run: (world: BusWorld) => Promise<void>): void => {
      it(title, async () => {
        const world = await create();
        try {
          await run(world);
        } finally {
          await world.close();
        }
      });
    };

    scenario(
      'what is published comes to every subscriber of the subject, in every process',
      async (world) => {
        const [a, b] = [await world.connect(), await world.connect()];
        const heard = collect([a, 'one'], [b, 'one'], [b, 'two']);
        await settled(a, b);
        a.publish('one', bytes('x'));
        a.publish('two', bytes('y'));
        assert.deepEqual((await heard(3)).toSorted(), ['0 x', '1 x', '2 y']);
      },
    );

    scenario('a subscriber that stopped hears nothing more', async (world) => {
      const bus = await world.connect();
      const stopped: string[] = [];
      const stop = bus.subscribe('one', (data) => stopped.push(text(data)));
      const heard = collect([bus, 'one']);
      await settled(bus);
      bus.publish('one', bytes('x'));
      await heard(1);
      stop();
      bus.publish('one', bytes('y'));
      await heard(2);
      assert.deepEqual(stopped, ['x']);
    });

    scenario('a request has one answer, although several could answer', async (world) => {
      const [a, b, asks] = [await world.connect(), await world.connect(), await world.connect()];
      let calls = 0;
      for (const bus of [a, b]) {
        bus.respond('question', async (data) => {
          calls++;
          return bytes(`answer to ${text(data)}`);
        });
      }
      await settled(a, b);
      assert.equal(text(await asks.request('question', bytes('x'), REQUEST_MS)), 'answer to x');
      assert.equal(calls, 1);
    });

    scenario(
      'a request that nobody can answer is rejected at once, one that nobody answers in time',
      async (world) => {
        const bus = await world.connect();
        await rejects(bus.request('question', bytes('x'), 60_000), 'no_responders');
        const stop = bus.respond('question', async () => null);
        await settled(bus);
        await rejects(bus.request('question', bytes('x'), 50), 'timeout');
        stop();
        bus.respond('other', () => Promise.reject(new Error('failed')));
        await settled(bus);
        await rejects(bus.request('other', bytes('x'), 50), 'timeout');
      },
    );

    scenario('a star stands for the last label of a subject', async (world) => {
      const [a, b] = [await world.connect(), await world.connect()];
      const heard = collect([a, 'meter.*']);
      a.respond('ask.*', async (data, sentTo) => bytes(`answer to ${text(data)} at ${sentTo}`));
      await settled(a, b);
      b.publish('meter.one', bytes('x'));
      b.publish('meter.one.more', bytes('no'));
      b.publish('meters.one', bytes('no'));
      b.publish('meter.two', bytes('y'));
      assert.deepEqual((await heard(2)).toSorted(), ['0 x', '0 y']);
      assert.equal(text(await b.request('ask.one', bytes('x'), REQUEST_MS)), 'answer to x at ask.one');
      await rejects(b.request('ask.one.more', bytes('x'), 60_000), 'no_responders');
    });

    scenario('the stream gives numbers from 1 on, and everything from a number on', async (world) => {
      const bus = await world.connect();
      assert.equal(await bus.readLast(), null);
      assert.deepEqual(await bus.readFrom(1, 10), []);
      for (let i = 0; i < 40; i++) assert.equal(await bus.append(bytes(`m${i + 1}`), i), i + 1);
      const other = await world.connect();
      const read = async (seq: number, limit: number): Promise<string[]> =>
        (await other.readFrom(seq, limit)).map((message) => `${message.seq} ${text(message.data)}`);
      assert.deepEqual(await read(2, 3), ['2 m2', '3 m3', '4 m4']);
      assert.equal((await read(0, 100)).length, 40);
      assert.deepEqual((await read(1, 39)).at(-1), '39 m39');
      assert.deepEqual(await read(40, 10), ['40 m40']);
      assert.deepEqual(await read(41, 10), []);
      assert.deepEqual(text((await other.readLast())!.data), 'm40');
    });

    scenario('an append that expects another last message stores nothing', async (world) => {
      const bus = await world.connect();
      await assert.rejects(bus.append(bytes('x'), 1), AppendConflictError);
      await bus.append(bytes('a'), 0);
      await assert.rejects(bus.append(bytes('b'), 0), AppendConflictError);
      await assert.rejects(bus.append(bytes('b'), 2), AppendConflictError);
      assert.equal((await bus.readLast())!.seq, 1);
      await bus.append(bytes('b'), 1);
    });

    scenario('of two that append at once, one succeeds each time', async (world) => {
      const buses = [await world.connect(), await world.connect()];
      for (let last = 0; last < 10; last++) {
        const results = await Promise.allSettled(buses.map((bus, i) => bus.append(bytes(`${i}`), last)));
        const refused = results.filter((result) => result.status === 'rejected');
        assert.equal(refused.length, 1);
        assert.ok(refused[0]!.reason instanceof AppendConflictError);
      }
      assert.equal((await buses[0]!.readLast())!.seq, 10);
    });

    scenario('reads begin with the first message that is left, and numbers go on', async (world) => {
      const bus = await world.connect();
      for (let i = 0; i < 5; i++) await bus.append(bytes(`${i + 1}`), i);
      await world.purge(3);
      assert.deepEqual(
        (await bus.readFrom(1, 10)).map(({ seq }) => seq),
        [4, 5],
      );
      await world.purge(5);
      assert.deepEqual(await bus.readFrom(1, 10), []);
      assert.equal(await bus.append(bytes('6'), 5), 6);
    });

    scenario(
      'an erased stream is empty, without parts of snapshots, and its numbers go on',
      async (world) => {
        const bus = await world.connect();
        assert.equal(await bus.lastSeq(), 0);
        await bus.eraseStreams();
        for (let i = 0; i < 5; i++) await bus.append(bytes(`${i + 1}`), i);
        await bus.putChunk('s1.1', bytes('x'));
        await bus.eraseStreams();
        assert.deepEqual([await bus.chunkNames(), await bus.getChunk('s1.1')], [[], null]);
        assert.deepEqual(
          [await bus.readLast(), await bus.readFrom(1, 10), await bus.lastSeq()],
          [null, [], 5],
        );
        await assert.rejects(bus.append(bytes('6'), 0), AppendConflictError);
        assert.equal(await bus.append(bytes('6'), 5), 6);
        assert.deepEqual([(await bus.readLast())!.seq, await bus.lastSeq()], [6, 6]);
      },
    );

    scenario('chunks are found by name, the last of each', async (world) => {
      const [a, b] = [await world.connect(), await world.connect()];
      assert.equal(await b.getChunk('s1.1'), null);
      await a.putChunk('s1.1', bytes('old'));
      await a.putChunk('s1.1', bytes('x'));
      await a.putChunk('s1.2', bytes('y'));
      assert.equal(text((await b.getChunk('s1.1'))!), 'x');
      assert.equal(text((await b.getChunk('s1.2'))!), 'y');
      for (const name of ['', 'a b', '*', 'a.>', 'a..b', '.a']) {
        await assert.rejects(a.putChunk(name, bytes('x')), RangeError, name);
      }
    });

    scenario('chunks are listed and deleted', async (world) => {
      const bus = await world.connect();
      assert.deepEqual(await bus.chunkNames(), []);
      for (const name of ['a.x.0', 'a.x.1', 'b.manifest.0']) await bus.putChunk(name, bytes(name));
      await bus.putChunk('a.x.1', bytes('again'));
      assert.deepEqual((await bus.chunkNames()).toSorted(), ['a.x.0', 'a.x.1', 'b.manifest.0']);
      await bus.deleteChunk('a.x.1');
      await bus.deleteChunk('a.x.1');
      await bus.deleteChunk('a.x.7');
      assert.deepEqual((await bus.chunkNames()).toSorted(), ['a.x.0', 'b.manifest.0']);
      assert.equal(await bus.getChunk('a.x.1'), null);
      assert.equal(text((await bus.getChunk('a.x.0'))!), 'a.x.0');
      await assert.rejects(bus.deleteChunk('a.*'), RangeError);
    });

    scenario('the largest message of the feed passes, live and stored', async (world) => {
      const bus = await world.connect();
      const heard = collect([bus, 'one']);
      await settled(bus);
      const large = Buffer.alloc(LIMITS.feedMessage, 'x');
      bus.publish('one', large);
      assert.equal((await heard(1))[0]!.length, large.length + 2);
      await bus.append(large, 0);
      assert.equal(Buffer.compare((await bus.readLast())!.data, large), 0);
    });

    scenario(
      'while the broker is away calls are rejected; after its return everything goes on',
      async (world) => {
        const bus = await world.connect();
        const states: BusState[] = [];
        bus.onState((state) => states.push(state));
        const heard = collect([bus, 'one']);
        bus.respond('question', async () => bytes('answer'));
        await bus.append(bytes('a'), 0);
        await world.stop();
        await inState(bus, 'disconnected');
        bus.publish('one', bytes('lost'));
        await rejects(bus.request('question', bytes('x'), REQUEST_MS), 'disconnected');
        await rejects(bus.append(bytes('b'), 1), 'disconnected');
        await rejects(bus.readLast(), 'disconnected');
        await world.start();
        await inState(bus, 'connected');
        assert.deepEqual(states, ['disconnected', 'connected']);
        bus.publish('one', bytes('x'));
        assert.deepEqual(await heard(1), ['0 x'], 'what was published meanwhile is not sent later');
        assert.equal(text(await bus.request('question', bytes('x'), REQUEST_MS)), 'answer');
        assert.equal((await bus.readLast())!.seq, 1);
        assert.equal(await bus.append(bytes('b'), 1), 2);
      },
    );

    scenario('a closed end rejects everything', async (world) => {
      const bus = await world.connect();
      await bus.close();
      assert.equal(bus.state(), 'disconnected');
      bus.publish('one', bytes('x'));
      await rejects(bus.request('question', bytes('x'), REQUEST_MS), 'closed');
      await rejects(bus.append(bytes('x'), 0), 'closed');
      await rejects(bus.readFrom(1, 1), 'closed');
      await bus.close();
    });
  });
}

async function rejects(call: Promise<unknown>, reason: BusError['reason']): Promise<void> {
  await assert.rejects(call, (error) => error instanceof BusError && error.reason === reason, reason);
}

/** Resolves when the broker knows what these ends subscribed to: it handles the messages of a connection in order. */
async function settled(...buses: readonly Bus[]): Promise<void> {
  for (const bus of buses) await bus.readLast();
}

/** Subscribes; the function that it returns resolves with what was heard once it is that many. */
function collect(...to: readonly (readonly [Bus, string])[]): (count: number) => Promise<string[]> {
  const heard: string[] = [];
  let wake = (): void => {};
  to.forEach(([bus, subject], i) => {
    bus.subscribe(subject, (data) => {
      heard.push(`${i} ${text(data)}`);
      wake();
    });
  });
  return async (count) => {
    while (heard.length < count) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return heard;
  };
}
