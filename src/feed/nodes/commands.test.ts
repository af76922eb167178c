import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { countingNonces } from '../../../test/support/feed/batch/keys.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { BusError, SUBJECTS } from '../bus/bus.ts';
import { makeNkey } from '../bus/nats/nkey.ts';
import { feedVerifier } from '../message/message.ts';
import { controlExchange, controlIdentity, statusEnd } from '../rpc/control-identity.ts';
import { ExchangeError } from '../rpc/rpc.ts';
import { askForEpoch, askToErase, startCommands } from './operator.ts';

const NOW = 1_000_000;

async function identityOf() {
  const signing = generateKeyPairSync('ed25519');
  const sign = signing.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const identity = controlIdentity({ sign, seed: (await makeNkey()).seed })!;
  return { identity, verifier: feedVerifier([signing.publicKey]) };
}

async function world() {
  const own = await identityOf();
  const broker = createMemoryBroker();
  const done: string[] = [];
  const refused: string[] = [];
  let now = NOW;
  let failure: Error | null = null;
  const clock = (): number => now;
  const control = broker.connect('control');
  startCommands({
    end: statusEnd(own.identity, {
      bus: control,
      clock,
      random: countingNonces(),
      onRefused: (reason) => refused.push(reason),
    }),
    async renewKeys() {
      if (failure !== null) throw failure;
      done.push(`keys renewed, ${broker.stream.length} messages`);
    },
    async renewEpoch() {
      done.push('epoch renewed');
      return 'first.5';
    },
  });
  const exchange = (as = own, bus = broker.connect('operator')) =>
    controlExchange(as.identity, { bus, verifier: as.verifier, random: countingNonces(), clock });
  return {
    broker,
    control,
    done,
    refused,
    exchange,
    pass: (ms: number): void => {
      now += ms;
    },
    fail: (error: Error): void => {
      failure = error;
    },
  };
}

describe('commands to the feed', () => {
  it('erase: keys are renewed, then stream and snapshots are removed', async () => {
    const { broker, control, done, exchange } = await world();
    await control.append(Buffer.from('a'), 0);
    await control.putChunk('view.1', Buffer.from('x'));
    await askToErase(exchange());
    assert.deepEqual(done, ['keys renewed, 1 messages']);
    assert.deepEqual([broker.stream, await control.chunkNames()], [[], []]);
  });

  it('erase: while the keys cannot be renewed nothing is removed, and the operator is told', async () => {
    const { broker, control, exchange, fail } = await world();
    await control.append(Buffer.from('a'), 0);
    fail(new Error('no database'));
    await assert.rejects(askToErase(exchange()), ExchangeError);
    assert.equal(broker.stream.length, 1);
  });

  it('epoch: the answer is the new one', async () => {
    const { done, exchange } = await world();
    assert.equal(await askForEpoch(exchange()), 'first.5');
    assert.deepEqual(done, ['epoch renewed']);
  });

  it('without a control process the command is not lost without a word', async () => {
    const own = await identityOf();
    const bus = createMemoryBroker().connect();
    const random = countingNonces();
    const exchange = controlExchange(own.identity, { bus, verifier: own.verifier, random, clock: () => NOW });
    await assert.rejects(
      askToErase(exchange),
      (error) => error instanceof BusError && error.reason === 'no_responders',
    );
  });

  it('is refused of another signer, repeated, late, or changed', async () => {
    const { broker, done, refused, exchange, pass } = await world();
    const sent: Uint8Array[] = [];
    const spy = broker.connect('spy');
    spy.subscribe(SUBJECTS.command, (data) => sent.push(data));
    const operator = broker.connect('operator');
    const recording = {
      ...operator,
      request: (subject: string, data: Uint8Array, ms: number) => {
        sent.push(data);
        return operator.request(subject, data, ms);
      },
    };
    await askForEpoch(exchange(undefined, recording));
    const [message] = sent;
    const forged = Buffer.from(message!);
    forged[forged.length - 70]! ^= 1;
    const stranger = exchange(await identityOf());
    pass(1);
    const attempts: readonly (readonly [Promise<unknown>, string])[] = [
      [operator.request(SUBJECTS.command, message!, 50), 'replayed'],
      [operator.request(SUBJECTS.command, forged, 50), 'signature'],
    ];
    for (const [attempt] of attempts) await attempt.catch(() => {});
    assert.deepEqual(
      refused,
      attempts.map(([, reason]) => reason),
    );
    await assert.rejects(stranger.ask('command', 'epoch', 50), BusError);
    assert.equal(refused.at(-1), 'signer');
    pass(61_000);
    await operator.request(SUBJECTS.command, message!, 50).catch(() => {});
    assert.deepEqual(done, ['epoch renewed']);
    await assert.rejects(
      exchange()
        .ask('command', 'drop', 1_000)
        .then(({ status }) => assert.equal(status, 'done')),
    );
  });
});
