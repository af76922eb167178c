import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  MemoryWitness,
  policyOf,
  response,
  sendTo,
} from '../../../test/support/control/transparency/witness.ts';
import type { OutboundResult } from '../../outbound/request.ts';
import { leafHash, nodeHash } from '../../protocol/transparency/tree.ts';
import { verifierKeyOfLog } from './init.ts';
import { signedNote } from './signer.ts';
import { submitToWitnesses, type WitnessState } from './witnesses.ts';

const key = { origin: 'api.example.net/log', privateKey: generateKeyPairSync('ed25519').privateKey };
const [a, b] = ['a', 'b'].map((leaf) => leafHash(Buffer.from(leaf)));
const root = nodeHash(a!, b!);
const checkpoint = { size: 2, root, note: signedNote(key, 2, root) };

async function ask(witness: MemoryWitness, old: number) {
  const policy = policyOf([witness]);
  const prove = async (from: number) => (from === 1 ? [b!] : []);
  const submission = { origin: key.origin, checkpoint, old, prove };
  const [answer] = await submitToWitnesses(sendTo([witness]), policy, submission);
  return answer!;
}

describe('an answer of a witness', () => {
  const table: readonly (readonly [
    what: string,
    answer: OutboundResult,
    state: WitnessState,
    size: number | null,
  ])[] = [
    ['409 with a larger size', response(409, '3\n'), 'ahead', 3],
    ['409 with our own size', response(409, '2\n'), 'other_root', 2],
    ['409 without a size', response(409, ''), 'other_root', null],
    ['409 with a size that is none', response(409, '03\n'), 'strange', null],
    ['409 with a text', response(409, 'conflict\n'), 'strange', null],
    ['403', response(403, 'no'), 'refused', null],
    ['404', response(404, ''), 'refused', null],
    ['422', response(422, ''), 'other_root', null],
    ['400', response(400, ''), 'strange', null],
    ['301', response(301, ''), 'strange', null],
    ['500', response(500, ''), 'away', null],
    ['503', response(503, '— not a line\n'), 'away', null],
    ['200 with nothing', response(200, ''), 'strange', null],
    ['200 with garbage', response(200, '\0\u{1F600}\n\n— x y\n'), 'strange', null],
    ['200 with a line of the log', response(200, checkpoint.note.split('\n\n')[1]!), 'strange', null],
    ['none within its time', { kind: 'failed', fault: 'timeout' }, 'away', null],
    ['none', { kind: 'failed', fault: 'connection_failed' }, 'away', null],
    ['one that is too large', { kind: 'failed', fault: 'too_large' }, 'strange', null],
  ];
  for (const [what, answer, state, size] of table) {
    it(`that is ${what} is ${state}`, async () => {
      const witness = new MemoryWitness('w1', verifierKeyOfLog(key));
      witness.fault = () => answer;
      const found = await ask(witness, 2);
      assert.deepEqual([found.state, found.size, found.cosignature], [state, size, null]);
      assert.equal(witness.asked.length, 1);
    });
  }

  it('that is 409 with a smaller size gets a proof from there, once', async () => {
    const witness = new MemoryWitness('w1', verifierKeyOfLog(key));
    witness.size = 1;
    witness.root = a!;
    assert.equal((await ask(witness, 2)).state, 'cosigned');
    assert.deepEqual(witness.asked, [
      { old: 2, size: 2, proof: 0 },
      { old: 1, size: 2, proof: 1 },
    ]);
    const changing = new MemoryWitness('w2', verifierKeyOfLog(key));
    changing.fault = () => response(409, `${changing.asked.length % 2}\n`);
    assert.equal((await ask(changing, 2)).state, 'strange');
    assert.equal(changing.asked.length, 2);
  });

  it('that holds less is asked once and brought nowhere without proofs, and is no fork', async () => {
    for (const size of [0, 1]) {
      const witness = new MemoryWitness('w1', verifierKeyOfLog(key));
      witness.size = size;
      if (size === 1) witness.root = a!;
      const submission = { origin: key.origin, checkpoint, old: 2, prove: null };
      const [answer] = await submitToWitnesses(sendTo([witness]), policyOf([witness]), submission);
      assert.deepEqual([answer!.state, answer!.size, witness.size], ['less', size, size]);
      assert.equal(witness.asked.length, 1);
    }
  });

  it('of another tree of the same size is no cosignature', async () => {
    const witness = new MemoryWitness('w1', verifierKeyOfLog(key));
    witness.size = 2;
    witness.root = nodeHash(b!, a!);
    assert.equal((await ask(witness, 2)).state, 'other_root');
  });

  it('signed by another key is no cosignature', async () => {
    const witness = new MemoryWitness('w1', verifierKeyOfLog(key));
    const other = new MemoryWitness('w1', verifierKeyOfLog(key));
    const policy = policyOf([witness]);
    const submission = { origin: key.origin, checkpoint, old: 0, prove: async () => [] };
    const [answer] = await submitToWitnesses(sendTo([other]), policy, submission);
    assert.equal(answer!.state, 'strange');
  });
});
