import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createManualTimers, type ManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { signingKeys } from '../../../test/support/feed/batch/keys.ts';
import { secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { createMemoryBroker, type MemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { answerDemands, demandSnapshot } from './demand.ts';

describe('a snapshot on demand', () => {
  let broker: MemoryBroker;
  let timers: ManualTimers;
  let leader: string;
  let stops: { stop(): Promise<void> }[];
  beforeEach(() => {
    broker = createMemoryBroker();
    timers = createManualTimers();
    leader = 'a';
    stops = ['a', 'b'].map((name, i) =>
      answerDemands({
        bus: broker.connect(name),
        signer: secrets.signer,
        isLeading: () => leader === name,
        clock: () => 1_000,
        make: async () => ({ epoch: 'e', seq: 10 + i, at: 1_000, octets: 1, partOctets: 1 }),
        timers,
      }),
    );
  });
  afterEach(async () => {
    for (const end of stops) await end.stop();
  });

  const ask = (): Promise<number> => demandSnapshot(broker.connect('cli'), verifier, randomBytes, 1_000);

  it('is made by the process that leads, whichever that is', async () => {
    await assert.rejects(ask(), { reason: 'no_responders' });
    await timers.advance(500);
    for (let i = 0; i < 5; i++) assert.equal(await ask(), 10);
    leader = 'b';
    await timers.advance(500);
    for (let i = 0; i < 5; i++) assert.equal(await ask(), 11);
    leader = 'nobody';
    await timers.advance(500);
    await assert.rejects(ask(), { reason: 'no_responders' });
  });

  it('refuses an answer of a stranger, and one to another question', async () => {
    await timers.advance(500);
    const false1 = answerDemands({
      bus: broker.connect('broker'),
      signer: signingKeys(9).signer,
      isLeading: () => true,
      clock: () => 1_000,
      make: async () => ({ epoch: 'e', seq: 99, at: 1_000, octets: 1, partOctets: 1 }),
      timers,
    });
    leader = 'nobody';
    await timers.advance(500);
    await assert.rejects(ask(), { reason: 'signer' });
    await false1.stop();
    leader = 'a';
    await timers.advance(500);
    let first: Uint8Array | null = null;
    broker.bend = (_subject, data, to) => {
      if (to !== 'cli') return data;
      first ??= data;
      return first;
    };
    assert.equal(await ask(), 10);
    await assert.rejects(ask(), { reason: 'replayed' });
  });

  it('no more than 16 wait for a snapshot, however many a broker makes up', async () => {
    const timers = createManualTimers();
    const broker = createMemoryBroker(undefined, timers);
    let asked = 0;
    const demands = answerDemands({
      bus: broker.connect('control'),
      signer: secrets.signer,
      isLeading: () => true,
      clock: () => 1_000,
      make: () => {
        asked++;
        return new Promise(() => {});
      },
      timers,
    });
    await timers.advance(500);
    const cli = broker.connect('cli');
    const answers = Array.from({ length: 40 }, () => demandSnapshot(cli, verifier, secrets.random, 1_000));
    const ended = Promise.allSettled(answers);
    await timers.advance(2_000);
    await ended;
    assert.equal(asked, 16);
    await demands.stop();
  });
});
