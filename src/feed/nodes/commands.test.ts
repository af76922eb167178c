import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { countingNonces } from '../../../test/support/feed/batch/keys.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { BusError, SUBJECTS } from '../bus/bus.ts';
import { feedVerifier } from '../message/keys.ts';
import { controlIdentity, controlRpc, operatorEnd, RpcError } from '../message/rpc.ts';
import { askForEpoch, askToErase, startCommands } from './operator.ts';

const NOW = 1_000_000;

function identityOf() {
  const signing = generateKeyPairSync('ed25519');
  const sign = signing.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const identity = controlIdentity(sign);
  return { identity, verifier: feedVerifier([signing.publicKey]) };
}

function world() {
  const own = identityOf();
  const broker = createMemoryBroker();
  const done: string[] = [];
  const refused: string[] = [];
  let now = NOW;
  let failure: Error | null = null;
  const clock = (): number => now;
  const control = broker.connect('control');
  startCommands({
    end: operatorEnd(own.identity, own.verifier, {
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
  const rpc = (as = own, bus = broker.connect('operator')) =>
    controlRpc(as.identity, { bus, verifier: as.verifier, random: countingNonces(), clock });
  return {
    broker,
    control,
    done,
    refused,
    rpc,
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
    const { broker, control, done, rpc } = world();
    await control.append(Buffer.from('a'), 0);
    await control.putChunk('view.1', Buffer.from('x'));
    await askToErase(rpc());
    assert.deepEqual(done, ['keys renewed, 1 messages']);
    assert.deepEqual([broker.stream, await control.chunkNames()], [[], []]);
  });

  it('erase: while the keys cannot be renewed nothing is removed, and the operator is told', async () => {
    const { broker, control, rpc, fail } = world();
    await control.append(Buffer.from('a'), 0);
    fail(new Error('no database'));
    await assert.rejects(askToErase(rpc()), RpcError);
    assert.equal(broker.stream.length, 1);
  });

  it('epoch: the answer is the new one', async () => {
    const { done, rpc } = world();
    assert.equal(await askForEpoch(rpc()), 'first.5');
    assert.deepEqual(done, ['epoch renewed']);
  });

  it('without a control process the command is not lost without a word', async () => {
    const own = identityOf();
    const bus = createMemoryBroker().connect();
    const random = countingNonces();
    const rpc = controlRpc(own.identity, { bus, verifier: own.verifier, random, clock: () => NOW });
    await assert.rejects(
      askToErase(rpc),
      (error) => error instanceof BusError && error.reason === 'no_responders',
    );
  });

  it('is refused of another signer, repeated, late, or changed', async () => {
    const { broker, done, refused, rpc, pass } = world();
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
    await askForEpoch(rpc(undefined, recording));
    const [message] = sent;
    const forged = Buffer.from(message!);
    forged[forged.length - 70]! ^= 1;
    const stranger = rpc(identityOf());
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
      rpc()
        .ask('command', 'drop', 1_000)
        .then(({ status }) => assert.equal(status, 'done')),
    );
  });
});
