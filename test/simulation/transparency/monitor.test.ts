import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseVerifierKey } from '../../../src/protocol/transparency/note.ts';
import type { TrustPolicy } from '../../../src/protocol/transparency/policy.ts';
import { printLogProof } from '../../../src/protocol/transparency/proof.ts';
import { inclusionProof, leafHash } from '../../../src/protocol/transparency/tree.ts';
import { MemoryWitness, policyOf } from '../../support/control/transparency/witness.ts';
import { keyOf, SmallLog } from '../../support/protocol/transparency/small-log.ts';
import { createMonitor, type Get, type LogMonitor } from './monitor.ts';

const WITNESSES = ['w1.example/w', 'w2.example/w'];

function policyFor(log: SmallLog): TrustPolicy {
  const witnesses = ['w1', 'w2'].map((name, at) => new MemoryWitness(name, null, keyOf(WITNESSES[at]!)));
  return { ...policyOf(witnesses), logs: [{ key: parseVerifierKey(log.vkey)!, url: null }] };
}

/** REST of a registry with this log. */
function rest(log: SmallLog, witnesses = WITNESSES): Get {
  return async (path) => {
    const octets = path === '/log/checkpoint' ? log.note(undefined, witnesses) : log.tile(path.slice(5));
    return octets === null
      ? { status: 404, headers: {}, body: '' }
      : { status: 200, headers: {}, body: octets };
  };
}

async function watching(leaves: readonly string[]): Promise<{ log: SmallLog; monitor: LogMonitor }> {
  const log = new SmallLog(leaves);
  const monitor = createMonitor(policyFor(log));
  await monitor.round(rest(log));
  return { log, monitor };
}

const BEFORE = ['one', 'two', 'three'];

describe('the monitor of the simulation', () => {
  it('follows a log that grows, also one that shows less for a while, and gives its entries back', async () => {
    const { log, monitor } = await watching(BEFORE);
    log.append('four');
    await monitor.round(rest(log));
    assert.equal(monitor.size, 4);
    await monitor.round(rest(new SmallLog(BEFORE)));
    assert.equal(monitor.size, 4);
    assert.equal(monitor.shown(log.note(2, WITNESSES)), 2);
    assert.deepEqual(
      await monitor.source.read('tile/entries/000.p/4', 1_000),
      log.tile('tile/entries/000.p/4'),
    );
    assert.equal((await monitor.source.read('checkpoint', 1_000)).toString(), log.note(4, WITNESSES));
    await assert.rejects(monitor.source.read('tile/entries/000.p/5', 1_000), /is not there/);
  });

  it('finds a tile with other hashes than those of its entries', async () => {
    const { log, monitor } = await watching(BEFORE);
    log.append('four');
    const other = new SmallLog(['one', '2', 'three', 'four']);
    const lying: Get = (path) => rest(path.startsWith('/log/tile/0/') ? other : log)(path);
    await assert.rejects(monitor.round(lying), /tile\/0\/000\.p\/4 has not the hashes of its entries/);
  });

  it('finds an entry that was changed', async () => {
    const { monitor } = await watching(BEFORE);
    await assert.rejects(
      monitor.round(rest(new SmallLog(['one', '2', 'three', 'four']))),
      /entry 1 .* was changed/,
    );
  });

  it('finds a second history, of a size that it has and of one that it has not yet', async () => {
    const { log, monitor } = await watching(BEFORE);
    const other = new SmallLog(['one', 'two', '3', 'four', 'five']);
    assert.throws(() => monitor.shown(other.note(3, WITNESSES)), /two histories of 3/);
    assert.equal(monitor.shown(other.note(4, WITNESSES)), 4);
    log.append('four', 'five');
    assert.throws(() => monitor.shown(log.note(4, WITNESSES)), /two histories of 4/);
    await assert.rejects(monitor.round(rest(log)), /not those of its head of 4/);
  });

  it('finds entries that are not those of the head', async () => {
    const log = new SmallLog(BEFORE);
    const monitor = createMonitor(policyFor(log));
    const get = rest(log);
    const lying: Get = (path) =>
      path === '/log/checkpoint' ? get(path) : rest(new SmallLog(['1', '2', '3']))(path);
    await assert.rejects(monitor.round(lying), /not those of its head of 3/);
  });

  it('finds a head without its quorum', async () => {
    const log = new SmallLog(BEFORE);
    const monitor = createMonitor(policyFor(log));
    await assert.rejects(monitor.round(rest(log, ['w1.example/w'])), /not trusted/);
  });

  it('takes a proof of one of the leaves that it may be of, and no other one', async () => {
    const { log, monitor } = await watching(BEFORE);
    const hashes = log.leaves.map(leafHash);
    // Of a tree of two.
    const path = inclusionProof(1, 2, ({ level, index }) => (level === 0 ? hashes[index]! : log.root(2)));
    const proof = printLogProof({ index: 1, hashes: path, extra: null, checkpoint: log.note(2, WITNESSES) });
    assert.throws(() => monitor.proved(proof, [Buffer.from('three')]), /proves nothing/);
    monitor.proved(proof, [Buffer.from('three'), Buffer.from('two')]);
  });
});
