import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../../base/limits.ts';
import { CHECKPOINT_ROOM, checkpointTxt, proofRoom, proofTxt, readProofTxt } from './log-txt.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const SHORT = { slug: 'x', version: '1.0.0' };
const LONG = {
  slug: 's'.repeat(LIMITS.datasetSlug),
  version: `1.2.${'3'.repeat(LIMITS.datasetVersion - 4)}`,
};

describe('TXT values of the transparency log', () => {
  it('hold texts up to their room, and one octet more is too long', () => {
    for (const named of [SHORT, LONG]) {
      const octets = (length: number) => proofTxt(named, base64('p'.repeat(length))).length;
      assert.ok(octets(proofRoom(named)) <= LIMITS.txtValue);
      assert.ok(octets(proofRoom(named) + 1) > LIMITS.txtValue);
    }
    assert.ok(checkpointTxt(base64('c'.repeat(CHECKPOINT_ROOM))).length <= LIMITS.txtValue);
    assert.ok(checkpointTxt(base64('c'.repeat(CHECKPOINT_ROOM + 1))).length > LIMITS.txtValue);
    // The bound of the change is the largest of them.
    assert.equal(LIMITS.logText, CHECKPOINT_ROOM);
    assert.ok(proofRoom(SHORT) < LIMITS.logText);
  });

  it('are read as they were written, in UTF-8', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(SHORT, LONG),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 }),
        (of, proof) => {
          fc.pre(proof.isWellFormed());
          const value = Buffer.from(proofTxt(of, base64(proof))).toString('latin1');
          assert.deepEqual(readProofTxt(value), { ...of, proof });
        },
      ),
    );
  });

  it('are nothing else', () => {
    const good = proofTxt(SHORT, base64('proof\n'));
    assert.notEqual(readProofTxt(good), null);
    for (const bad of [
      '',
      ` ${good}`,
      `${good};x=y`,
      good.replace('tindex.v1', 'tindex.v2'),
      good.replace('e=b64', 'e=plain'),
      good.replace('ds=x', 'ds=X'),
      good.replace(/=[^=]*$/, ''),
      `${good.slice(0, good.lastIndexOf('=') + 1)}/w==`,
      checkpointTxt(base64('proof\n')),
      proofTxt(SHORT, base64('p'.repeat(proofRoom(SHORT) + 1))),
    ]) {
      assert.equal(readProofTxt(bad), null, bad.slice(0, 80));
    }
  });
});
