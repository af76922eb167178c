import assert from 'node:assert/strict';
import { test } from 'node:test';
import { treeHeadText } from '../../../src/protocol/transparency/checkpoint.ts';
import { printNote } from '../../../src/protocol/transparency/note.ts';
import { printLogProof } from '../../../src/protocol/transparency/proof.ts';
import {
  checkLogProof,
  cosignNote,
  readPolicy,
  signNote,
} from '../../../src/protocol/transparency/signatures.ts';
import { decodeEntries } from '../../../src/protocol/transparency/tiles.ts';
import {
  inclusionProof,
  leafHash,
  rootOf,
  subtreesFromStored,
} from '../../../src/protocol/transparency/tree.ts';
import { EXAMPLE, exampleOctets, exampleText } from '../../../test/support/protocol/transparency/example.ts';
import { readLogProof, verifyLogProof } from './log-proof.ts';

const policy = exampleText('policy.txt');
const proof = exampleText('entry-1.tlog-proof');
const leaves = decodeEntries(exampleOctets('entries.bin'), 5)!;
const manifest = leaves[1]!;

/** A proof of leaf `index` in a log of `size` entries, signed and cosigned by the keys of the example. */
function proofOf(size: number, index: number): { readonly leaf: Uint8Array; readonly text: string } {
  const hashes = Array.from({ length: size }, (_, at) => leafHash(Uint8Array.of(at)));
  const read = subtreesFromStored(({ level, index: at }) => {
    assert.equal(level, 0);
    return hashes[at]!;
  });
  const text = treeHeadText({ origin: EXAMPLE.origin, size, root: rootOf(size, read) });
  const signatures = [
    signNote(text, EXAMPLE.origin, EXAMPLE.logKey),
    cosignNote(text, EXAMPLE.witness, EXAMPLE.witnessKey, EXAMPLE.time),
  ];
  const checkpoint = printNote({ text, signatures });
  const made = { index, hashes: inclusionProof(index, size, read), checkpoint, extra: null };
  return { leaf: Uint8Array.of(index), text: printLogProof(made) };
}

test('the example of another program: the path to the root, and who cosigned when', async () => {
  const checked = await verifyLogProof(new TextDecoder().decode(manifest), proof, policy);
  assert.ok(checked.valid);
  const { origin, size, index, cosigners, path } = checked;
  assert.deepEqual([origin, size, index], ['api.example.net/log', 5, 1]);
  assert.deepEqual(cosigners, [{ name: 'w1', time: EXAMPLE.time }]);
  assert.deepEqual(
    path.map(({ side }) => side),
    ['left', 'right', 'right'],
  );
  const root = Buffer.from(path.at(-1)!.node).toString('base64');
  assert.equal(root, 'vfDK9KBrhN1Ov9t5U3bnpRuU8kHHWl+b2soeI7snEMY=');
});

test('each leaf of logs of up to 20 entries, and no other one', async () => {
  for (const size of [1, 2, 3, 8, 20]) {
    for (let index = 0; index < size; index++) {
      const { leaf, text } = proofOf(size, index);
      assert.ok((await verifyLogProof(leaf, text, policy)).valid, `${index} of ${size}`);
      const other = await verifyLogProof(Uint8Array.of(255), text, policy);
      assert.equal(other.valid ? '' : other.code, 'proof_wrong');
    }
  }
});

/** What is wrong, and the code that says so. */
const WRONG: readonly (readonly [what: string, code: string, proof: string, policy: string])[] = [
  ['no proof', 'proof_wrong', 'text', policy],
  ['another number', 'proof_wrong', proof.replace('index 1\n', 'index 0\n'), policy],
  ['a number above the size', 'proof_wrong', proof.replace('index 1\n', 'index 5\n'), policy],
  ['a hash less', 'proof_wrong', proof.replace(/index 1\n.*\n/, 'index 1\n'), policy],
  ['another root', 'checkpoint_untrusted', proof.replace('vfDK9', 'vfDK8'), policy],
  ['no cosignature', 'checkpoint_untrusted', proof.slice(0, proof.indexOf('— witness')), policy],
  ['no signature of the log', 'checkpoint_untrusted', proof.replace(/— api.*\n/, ''), policy],
  [
    'another time of the cosignature',
    'checkpoint_untrusted',
    proof.replace('AAAABrB3aC', 'AAAABrB3aD'),
    policy,
  ],
  ['another log', 'checkpoint_untrusted', proof, policy.replace(/^log.*\n/, '')],
  ['no policy', 'policy_malformed', proof, ''],
  ['a key under another id', 'policy_malformed', proof, policy.replace('3a2c2dc1', '3a2c2dc2')],
];

for (const [what, code, text, trusted] of WRONG) {
  test(`${what}: ${code}, as with Node`, async () => {
    const checked = await verifyLogProof(manifest, text, trusted);
    assert.equal(checked.valid ? 'valid' : checked.code, code);
    const read = readPolicy(trusted);
    if (!read.ok) return assert.equal(code, 'policy_malformed');
    const byNode = checkLogProof(manifest, text, read.policy);
    assert.equal(byNode.valid ? 'valid' : byNode.code, code);
  });
}

test('a proof is read to be shown, without a policy, and says itself whether it leads to its root', async () => {
  const read = await readLogProof(manifest, proof);
  const checked = await verifyLogProof(manifest, proof, policy);
  assert.ok(read && checked.valid);
  assert.deepEqual([read.leadsToRoot, read.path], [true, checked.path]);
  assert.deepEqual(read.cosigners, [{ name: EXAMPLE.witness, time: EXAMPLE.time }]);
  assert.equal((await readLogProof(leaves[2]!, proof))?.leadsToRoot, false);
  assert.equal(await readLogProof(manifest, 'text'), null);
  assert.equal(await readLogProof(manifest, proof.replace('index 1\n', 'index 5\n')), null);
});
