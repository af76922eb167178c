import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createManualTimers, type ManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { createMemoryBroker, type MemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import type { Bus } from '../bus/bus.ts';
import { feedVerifier } from '../message/keys.ts';
import { type ControlIdentity, controlIdentity, controlRpc, operatorEnd } from '../message/rpc.ts';
import { answerDemands, demandSnapshot } from './operator.ts';

const signing = generateKeyPairSync('ed25519');
const identity = controlIdentity(signing.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString());
const verifier = feedVerifier([signing.publicKey]);
const clock = (): number => 1_000;
const random = (octets: number): Uint8Array => randomBytes(octets);
const stranger = controlIdentity(
  generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
);

describe('a snapshot on demand', () => {
  let broker: MemoryBroker;
  let timers: ManualTimers;
  let leader: string;
  let stops: { stop(): Promise<void> }[];
  const answers = (
    bus: Bus,
    isLeading: () => boolean,
    make: () => Promise<number>,
    as: ControlIdentity = identity,
    on = timers,
  ) => answerDemands({ end: operatorEnd(as, verifier, { bus, clock, random }), isLeading, make, timers: on });
  const ask = (to = broker): Promise<number> =>
    demandSnapshot(controlRpc(identity, { bus: to.connect('cli'), verifier, random, clock }), 1_000);
  beforeEach(() => {
    broker = createMemoryBroker();
    timers = createManualTimers();
    leader = 'a';
    stops = ['a', 'b'].map((name, i) =>
      answers(
        broker.connect(name),
        () => leader === name,
        async () => 10 + i,
      ),
    );
  });
  afterEach(async () => {
    for (const end of stops) await end.stop();
  });

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
    // It knows the key that encrypts, but signs with its own.
    const false1 = answers(
      broker.connect('broker'),
      () => true,
      async () => 99,
      { ...identity, signer: stranger.signer },
    );
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

  it('no more than 16 wait for a snapshot, however many are asked for', async () => {
    const timers = createManualTimers();
    const broker = createMemoryBroker(undefined, timers);
    let asked = 0;
    const demands = answers(
      broker.connect('control'),
      () => true,
      () => {
        asked++;
        return new Promise(() => {});
      },
      identity,
      timers,
    );
    await timers.advance(500);
    const ended = Promise.allSettled(Array.from({ length: 40 }, () => ask(broker)));
    await timers.advance(2_000);
    await ended;
    assert.equal(asked, 16);
    await demands.stop();
  });
});
