/** The small log of test/fixtures/transparency, which another program made: every octet of it. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { EXAMPLE, exampleOctets, exampleText } from '../../../test/support/protocol/transparency/example.ts';
import { attestationKeyId } from '../datasets/attestation.ts';
import { readKeyTxt } from '../datasets/published.ts';
import { encodeBase64 } from '../encodings.ts';
import { parseCheckpoint, treeHeadText } from './checkpoint.ts';
import { COSIGNER_KEY, LOG_KEY, parseNote, printNote, printVerifierKey } from './note.ts';
import { printPolicy } from './policy.ts';
import { parseLogProof, printLogProof } from './proof.ts';
import {
  checkLogProof,
  checkNote,
  cosignNote,
  readPolicy,
  readVerifierKey,
  signNote,
  verifierKeyOf,
  verifyNoteSignature,
} from './signatures.ts';
import { decodeEntries, decodeTile, encodeEntries } from './tiles.ts';
import {
  consistencyProof,
  inclusionProof,
  leafHash,
  rootOf,
  subtreesFromStored,
  verifyConsistency,
} from './tree.ts';

const { origin, witness, time, logKey, witnessKey } = EXAMPLE;
const leaves = decodeEntries(exampleOctets('entries.bin'), 5)!;
const hashes = leaves.map(leafHash);
const read = subtreesFromStored(({ level, index }) => {
  assert.equal(level, 0);
  return hashes[index]!;
});
const text = treeHeadText({ origin, size: 5, root: rootOf(5, read) });
const signed = { text, signatures: [signNote(text, origin, logKey)] };
const cosigned = { text, signatures: [...signed.signatures, cosignNote(text, witness, witnessKey, time)] };

const logVkey = 'api.example.net/log+b9de7679+AYsDE53QaT2v+X9Smz3GFiEPOFtoXviDXqp8sjkNeRBD';
const witnessVkey = 'witness.example.org/w1+3a2c2dc1+BGYdDF5IHd8XMU4OuZRAbfWVuXaNhWi4+MuF9YhxmBdV';

test('its entries have the lengths and hashes of the page', () => {
  assert.deepEqual(
    leaves.map((leaf, at) => [leaf.length, encodeBase64(hashes[at]!)]),
    [
      [111, 'hfucHhtWkFZEvaB1N3GINn0d8TuqeJLQretiydJG7Cs='],
      [352, '8PlwOvwMOrNnz1WzU+gHOpiPHKUzg/Cu2Wyi3PjeIAs='],
      [135, 'HilzXr/JoEoitZzTnEdr5O6IFF6zLEHCQBFl+klXzBg='],
      [126, 'xHnSEeKWoON+lqEjYKzIs+HnVH2MmCyxycYkWkX/aQI='],
      [111, 'b7t46RpCSzl9LhmL/lPcdt7LvR92MYCHsE3jQ8PXEuI='],
    ],
  );
  const manifest = readFileSync(new URL('../../../test/fixtures/attest/plain/txt.bin', import.meta.url));
  assert.deepEqual(Buffer.from(leaves[1]!), manifest);
  const key = readKeyTxt(leaves[4]!)!;
  assert.equal(attestationKeyId(key.publicKey), '341331ed0a4d68a3');
  assert.equal(readKeyTxt(leaves[3]!)?.end, 1_795_651_200);
});

test('its tile and its bundle', () => {
  const digest = (octets: Uint8Array): string =>
    createHash('sha256').update(octets).digest('hex').slice(0, 8);
  const bundle = encodeEntries(leaves);
  assert.deepEqual(Buffer.from(bundle), exampleOctets('entries.bin'));
  assert.deepEqual([bundle.length, digest(bundle)], [845, '6aa3c352']);
  assert.deepEqual(Buffer.concat(hashes), exampleOctets('tile-0.bin'));
  assert.equal(digest(Buffer.concat(hashes)), '8342440d');
  assert.deepEqual(decodeTile(exampleOctets('tile-0.bin'), 5)?.map(encodeBase64), hashes.map(encodeBase64));
});

test('its keys, from the seeds and from their text', () => {
  assert.equal(printVerifierKey(verifierKeyOf(origin, LOG_KEY, logKey)), logVkey);
  assert.equal(printVerifierKey(verifierKeyOf(witness, COSIGNER_KEY, witnessKey)), witnessVkey);
  assert.deepEqual(readVerifierKey(logVkey), verifierKeyOf(origin, LOG_KEY, logKey));
  // An id that is not that of the key, and the same key as one of the other type.
  assert.equal(readVerifierKey(logVkey.replace('b9de7679', 'b9de7678')), null);
  assert.equal(readVerifierKey(logVkey.replace('+AYsD', '+BIsD')), null);
});

test('its checkpoint, the request to a witness, and the answer', () => {
  assert.equal(printNote(cosigned), exampleText('checkpoint.txt'));
  const proof = consistencyProof(3, 5, read).map((hash) => `${encodeBase64(hash)}\n`);
  assert.equal(`old 3\n${proof.join('')}\n${printNote(signed)}`, exampleText('add-checkpoint.txt'));
  assert.equal(`${cosigned.signatures[1]!.line}\n`, exampleText('cosignature.txt'));
  assert.equal(encodeBase64(rootOf(3, read)), 'k+YSlr2FSZTWRYQX/X60EpoFoZlJwUUz7nLTKyY8CfY=');
  assert.ok(verifyConsistency(3, rootOf(3, read), 5, rootOf(5, read), consistencyProof(3, 5, read)));
});

test('its checkpoint and its proof are read and written again', () => {
  const checkpoint = exampleText('checkpoint.txt');
  assert.deepEqual(parseNote(checkpoint), cosigned);
  assert.deepEqual(parseCheckpoint(checkpoint)?.size, 5);
  const made = {
    index: 1,
    hashes: inclusionProof(1, 5, read),
    checkpoint: printNote(cosigned),
    extra: null,
  };
  assert.equal(printLogProof(made), exampleText('entry-1.tlog-proof'));
  assert.equal(printLogProof(parseLogProof(exampleText('entry-1.tlog-proof'))!), printLogProof(made));
});

test('its policy trusts the checkpoint, and the proof shows the manifest and no other leaf', () => {
  const policy = readPolicy(exampleOctets('policy.txt'));
  assert.ok(policy.ok);
  assert.equal(printPolicy(policy.policy), exampleText('policy.txt'));
  const judged = checkNote(exampleText('checkpoint.txt'), policy.policy);
  assert.ok(judged.valid);
  assert.deepEqual(
    judged.cosigners.map(({ name, time: at }) => [name, at]),
    [['w1', time]],
  );
  const proof = exampleText('entry-1.tlog-proof');
  assert.deepEqual(
    leaves.map((leaf) => checkLogProof(leaf, proof, policy.policy).valid),
    [false, true, false, false, false],
  );
  const elsewhere = checkLogProof(leaves[1]!, proof.replace('index 1\n', 'index 2\n'), policy.policy);
  assert.ok(!elsewhere.valid);
  assert.equal(elsewhere.code, 'proof_wrong');
  // Without the cosignature.
  const alone = checkLogProof(leaves[1]!, proof.slice(0, proof.indexOf('— witness')), policy.policy);
  assert.ok(!alone.valid);
  assert.equal(alone.code, 'checkpoint_untrusted');
});

test('the note in the text of signed-note', () => {
  const note = `This is an example message.

— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
`;
  const key = readVerifierKey('example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k');
  assert.ok(key);
  const [line] = parseNote(note)!.signatures;
  assert.equal(verifyNoteSignature('This is an example message.\n', key, line!), null);
  assert.equal(verifyNoteSignature('This is an example message!\n', key, line!), undefined);
});
