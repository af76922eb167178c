import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Told } from './by-hand.ts';
import { createCounts, createCountsCheck } from './counts.ts';

class Counted extends Told {
  readonly check = createCountsCheck(
    this.model,
    createCounts(this.model, () => 0),
  );

  read(path: string, body: unknown, credential = 'session'): void {
    const pending = this.model.sent(this.step(), { account: 'a', credential, method: 'GET', path });
    const answer = { status: 200, body, headers: {} };
    this.model.answered(this.ms, pending, answer);
    this.check.answered(pending, answer, { from: this.ms, to: this.ms });
  }

  counts(records: number, namespaces = 1): void {
    const space = { id: 'n1', name: 'acme', records_count: records };
    if (namespaces > 0) this.read('/namespaces', [space]);
    this.read('/me', { records_count: records, namespaces_count: namespaces });
    this.read('/usage', { records: { used: records }, namespaces: { used: namespaces } });
  }
}

const begun = (): Counted => new Counted().begin() as Counted;

describe('the model of counts', () => {
  it('are those of what was written', () => {
    const told = begun();
    told.counts(0);
    told.write('r1', 'one');
    told.counts(1);
    assert.throws(() => told.counts(2), /records of acme are counted as 2, and there are 1/);
    assert.throws(() => told.read('/me', { records_count: 0, namespaces_count: 1 }), /counted as 0/);
    assert.throws(
      () => told.read('/me', { records_count: 1, namespaces_count: 2 }),
      /namespaces are counted as 2/,
    );
    told.read('/me', { records_count: 0, namespaces_count: 0 }, 'key 1');
    told.do('DELETE', '/namespaces/n1', undefined, 204);
    told.counts(0, 0);
  });

  it('of what expires, and of what nobody knows, are either', () => {
    const told = begun();
    told.write('r1', 'one', { expires_at: new Date(told.ms + 10_000).toISOString() });
    told.counts(1);
    assert.throws(() => told.counts(0), /counted as 0/);
    told.ms += 20_000;
    told.counts(0);
    told.counts(1);
    told.model.lost(told.step(), told.send('DELETE', '/records/r1'), false);
    told.counts(0);
    assert.throws(() => told.counts(2), /counted as 2/);
  });
});
