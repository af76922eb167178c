import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { KeyError } from '../../dns/dnssec/key-set.ts';
import type { NodeSecrets } from '../../feed/ports/node-keys.ts';
import { firstSecrets, readSecrets } from './keys.ts';

const ZONE = 'uqrp.net';
const cookies = [{ period: 1, secret: Buffer.alloc(16) }];
const secretsOf = (...zones: readonly string[]): NodeSecrets => ({
  zones: zones.map((zone) => ({ zone, mark: 'a', from: 0, document: JSON.stringify({ zone }) })),
  cookies,
  tickets: [],
});

/** A start of a node whose source answers with what `answer` returns. */
function start(answer: () => Promise<NodeSecrets>) {
  const timers = createManualTimers();
  const waits: unknown[] = [];
  const cancelling = new AbortController();
  const reading = firstSecrets({
    read: readSecrets({ read: answer }, [ZONE]),
    onWaiting: (error) => waits.push(error),
    cancel: cancelling.signal,
    timers,
  });
  return { reading, timers, waits, cancelling };
}

describe('the secrets that an edge starts with', () => {
  it('come from the source', async () => {
    const { reading, waits } = start(async () => secretsOf('uqrp.org', ZONE));
    const { keys } = (await reading).secrets;
    assert.deepEqual(keys, [{ zone: ZONE }]);
    assert.deepEqual(waits, []);
  });

  it('are waited for when there are none: the node makes none and retries every second (finding R2)', async () => {
    let tries = 0;
    let made = secretsOf();
    const { reading, timers, waits } = start(async () => {
      tries++;
      return made;
    });
    await timers.advance(2000);
    assert.equal(tries, 3);
    assert.equal(waits.length, 1);
    assert.match(String(waits[0]), /nobody has made the signing keys of uqrp\.net yet/);
    made = secretsOf(ZONE);
    await timers.advance(1000);
    assert.equal((await reading).secrets.keys.length, 1);
  });

  it('are waited for until the start is cancelled', async () => {
    const { reading, timers, cancelling } = start(async () => {
      throw new Error('not connected');
    });
    await timers.advance(1000);
    cancelling.abort(new Error('stopped'));
    const ended = assert.rejects(reading, /stopped/);
    await timers.advance(1000);
    await ended;
  });

  it('are refused when they cannot be read, with no part of them in the message', async () => {
    const [zone] = secretsOf(ZONE).zones;
    for (const document of ['secret', '"secret"', 'null', '{"zone":"secret"}']) {
      const read = readSecrets({ read: async () => ({ ...secretsOf(), zones: [{ ...zone!, document }] }) }, [
        ZONE,
      ]);
      await assert.rejects(
        read(),
        (error) =>
          error instanceof KeyError && error.message === 'the signing keys of uqrp.net are not readable',
      );
    }
    await assert.rejects(
      readSecrets({ read: async () => ({ ...secretsOf(), cookies: [] }) }, [])(),
      KeyError,
    );
  });
});
