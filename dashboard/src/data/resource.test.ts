import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ComponentType, h, options, render } from 'preact';
import { ConnectionError } from '../../../sdk/src/uqrp-sdk.ts';
import { isOffline, noteFailure } from '../app/offline.ts';
import { forgetResources, invalidate, type Resource, setResource, useResource } from './resource.ts';

const HOUR = 3_600_000;

/** Reads that the test ends, in the order in which they began. */
class Reads {
  readonly begun: {
    readonly signal: AbortSignal;
    readonly end: (value: string) => void;
    readonly fail: (error: unknown) => void;
  }[] = [];

  readonly fetch = (signal: AbortSignal): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.begun.push({ signal, end: resolve, fail: reject });
    return promise;
  };
}

interface Shown {
  /** What the component was given at each rendering: a value, `loading` or `failed`. */
  readonly seen: string[];
  readonly now: () => Resource<string>;
  leave(): void;
}

const mounted = new Set<Shown>();

/** Shows a component that follows a resource. It renders nothing, so that no document is needed. */
async function show(key: string | null, reads: Reads, freshMs?: number): Promise<Shown> {
  const place = { nodeType: 1, childNodes: [], firstChild: null } as unknown as Element;
  const seen: string[] = [];
  let last: Resource<string> | null = null;
  const Follower: ComponentType = () => {
    last = useResource(key, reads.fetch, freshMs === undefined ? {} : { freshMs });
    seen.push(last.state === 'ready' ? last.value : last.state);
    return null;
  };
  render(h(Follower, null), place);
  const shown: Shown = {
    seen,
    now: () => last!,
    leave() {
      mounted.delete(shown);
      render(null, place);
    },
  };
  mounted.add(shown);
  await settled();
  return shown;
}

/** Effects, promises and renderings under way. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}

describe('what is read from the API', () => {
  const others = { ...options };
  before(() => {
    // Effects run in the next turn of the loop: there is no frame to wait for.
    options.requestAnimationFrame = (run) => void setImmediate(run);
    options.debounceRendering = (run) => void setImmediate(run);
  });
  after(() => void Object.assign(options, others));
  afterEach(() => {
    for (const shown of [...mounted]) shown.leave();
    forgetResources();
  });

  it('is read once for all components, and comes to each', async () => {
    const reads = new Reads();
    const [one, other] = [await show('k', reads, HOUR), await show('k', reads, HOUR)];
    assert.equal(reads.begun.length, 1);
    reads.begun[0]!.end('value');
    await settled();
    assert.deepEqual(
      [one.seen, other.seen],
      [
        ['loading', 'value'],
        ['loading', 'value'],
      ],
    );
    await show(null, reads);
    assert.equal(reads.begun.length, 1);
  });

  it('a read that was ended does not overwrite the newer value, nor tell its fault (mutant V01)', async () => {
    const reads = new Reads();
    const shown = await show('k', reads);
    invalidate('k');
    invalidate('k');
    const [first, second, third] = reads.begun;
    assert.deepEqual(
      reads.begun.map(({ signal }) => signal.aborted),
      [true, true, false],
    );
    third!.end('new');
    await settled();
    first!.end('old');
    second!.fail(new Error('late'));
    await settled();
    assert.deepEqual(shown.seen, ['loading', 'new']);
    assert.equal(shown.now().error, undefined);
  });

  it('arrives although a poll asks again before each answer', async () => {
    const reads = new Reads();
    const shown = await show('k', reads);
    shown.now().poll();
    assert.equal(reads.begun.length, 1);
    reads.begun[0]!.end('slow');
    await settled();
    assert.equal(reads.begun.length, 1);
    shown.now().poll();
    assert.equal(reads.begun.length, 2);
    assert.deepEqual(shown.seen, ['loading', 'slow']);
  });

  it('is read once more after a read that was under way when the value changed', async () => {
    const reads = new Reads();
    const shown = await show('k', reads);
    shown.now().again();
    shown.now().again();
    assert.equal(reads.begun.length, 1);
    reads.begun[0]!.end('before the change');
    await settled();
    assert.equal(reads.begun.length, 2);
    reads.begun[1]!.end('after it');
    await settled();
    assert.equal(reads.begun.length, 2);
    assert.deepEqual(shown.seen, ['loading', 'before the change', 'after it']);
  });

  it('is read once more, and no further, after a read that failed and was under way when the value changed', async () => {
    const reads = new Reads();
    const shown = await show('k', reads);
    shown.now().again();
    shown.now().again();
    reads.begun[0]!.fail(new Error('before the change'));
    await settled();
    assert.equal(reads.begun.length, 2);
    reads.begun[1]!.fail(new Error('after it'));
    await settled();
    assert.equal(reads.begun.length, 2);
  });

  it('a read that is repeated by itself is not repeated at once as well', async () => {
    const reads = new Reads();
    const shown = await show('k', reads);
    shown.now().again();
    reads.begun[0]!.fail(new ConnectionError('away'));
    await settled();
    assert.equal(reads.begun.length, 1);
  });

  it('is forgotten when another person signs in: nothing of the one before is shown for a moment (mutant V02)', async () => {
    const [ofAnn, ofBob] = [new Reads(), new Reads()];
    const ann = await show('me', ofAnn);
    const late = await show('usage', ofAnn);
    ofAnn.begun[0]!.end('ann');
    await settled();
    assert.deepEqual(ann.seen, ['loading', 'ann']);
    ann.leave();
    late.leave();
    forgetResources();
    const [bob, usage] = [await show('me', ofBob), await show('usage', ofBob)];
    // An answer to the person before that arrives now.
    ofAnn.begun[1]!.end('usage of ann');
    await settled();
    ofBob.begun[0]!.end('bob');
    ofBob.begun[1]!.end('usage of bob');
    await settled();
    assert.deepEqual(
      [bob.seen, usage.seen],
      [
        ['loading', 'bob'],
        ['loading', 'usage of bob'],
      ],
    );
  });

  it('is ended when nobody shows it, and read again by the next who does', async () => {
    const reads = new Reads();
    const left = await show('k', reads);
    left.leave();
    await settled();
    assert.equal(reads.begun[0]!.signal.aborted, true);
    reads.begun[0]!.end('of nobody');
    const shown = await show('k', reads);
    assert.equal(reads.begun.length, 2);
    reads.begun[1]!.end('value');
    await settled();
    assert.deepEqual(shown.seen, ['loading', 'value']);
  });

  it('that is known is shown at once, and read again behind it when it is not fresh, or after a write', async () => {
    const reads = new Reads();
    const first = await show('records a', reads);
    reads.begun[0]!.end('1');
    await settled();
    const fresh = await show('records a', reads, HOUR);
    assert.deepEqual([fresh.seen, reads.begun.length], [['1'], 1]);
    invalidate('tokens');
    assert.equal(reads.begun.length, 1);
    invalidate('records');
    assert.equal(reads.begun.length, 2);
    reads.begun[1]!.end('2');
    await settled();
    const stale = await show('records a', reads, -1);
    assert.equal(reads.begun.length, 3);
    setResource('records a', '3');
    await settled();
    assert.deepEqual(
      [first.seen, fresh.seen, stale.seen],
      [
        ['loading', '1', '2', '3'],
        ['1', '2', '3'],
        ['2', '3'],
      ],
    );
  });

  it('that fails keeps the value from before, with the error', async () => {
    const reads = new Reads();
    const shown = await show('k', reads);
    const error = new Error('no');
    reads.begun[0]!.fail(error);
    await settled();
    assert.deepEqual([shown.now().state, shown.now().error], ['failed', error]);
    shown.now().again();
    reads.begun[1]!.end('value');
    await settled();
    shown.now().again();
    reads.begun[2]!.fail(error);
    await settled();
    assert.deepEqual([shown.now().state, shown.now().value, shown.now().error], ['ready', 'value', error]);
  });

  it('an answer that was asked for before the server was away does not say that it is back', async () => {
    const reads = new Reads();
    const shown = await show('k', reads);
    noteFailure();
    reads.begun[0]!.end('from before');
    await settled();
    assert.deepEqual([isOffline.peek(), shown.now().value], [true, 'from before']);
    shown.now().again();
    reads.begun[1]!.end('from after');
    await settled();
    assert.deepEqual([isOffline.peek(), shown.now().value], [false, 'from after']);
  });
});
