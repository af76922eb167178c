import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { base64, Told } from './by-hand.ts';
import { createCounts } from './counts.ts';
import { createQuotasCheck } from './quotas.ts';

const REFUSED = { error: { type: 'quota_exceeded', message: 'Record limit of the account reached' } };

class Limited extends Told {
  readonly check = createQuotasCheck(
    this.model,
    createCounts(this.model, () => 0),
    { records: 2, namespaces: 1 },
  );

  asks(method: string, path: string, status: number, asked: object | undefined, body: object): void {
    const pending = this.send(method, path, asked);
    const answer = { status, body, headers: {} };
    this.model.answered(this.step(), pending, answer);
    this.check.answered(pending, answer, { from: this.ms, to: this.ms });
  }

  creates(id: string, status = 201): void {
    const record = { key: `${id}.doc.acme.v1`, data: base64(`${this.ms}`), expires_at: null };
    const body = status === 201 ? { id, ...record, ttl_seconds: 300, content_type: 'text/plain' } : REFUSED;
    this.asks('POST', '/records', status, { record }, body);
  }
}

const begun = (): Limited => new Limited().begin() as Limited;

describe('the model of limits of an account', () => {
  it('no more is written than the limit, and less is not refused', () => {
    const told = begun();
    told.creates('r1');
    assert.throws(() => told.creates('r2', 422), /limit of records is not reached, there are 1 of 2/);
    told.creates('r2');
    told.creates('r3', 422);
    assert.throws(() => told.creates('r3'), /3 records are more than 2/);
  });

  it('what may be under way counts for a refusal, and what nobody knows does not count for an excess', () => {
    const told = begun();
    told.creates('r1');
    told.send('POST', '/records', { record: { key: 'r2.doc.acme.v1', data: base64('two') } });
    told.creates('r3', 422);
    told.creates('r3');
  });

  it('what REST says is used is never above the limit', () => {
    const told = begun();
    const usage = (records: number, namespaces: number): void =>
      told.asks('GET', '/usage', 200, undefined, {
        records: { used: records },
        namespaces: { used: namespaces },
      });
    usage(2, 1);
    assert.throws(() => usage(3, 1), /3 records of 2/);
    assert.throws(() => usage(2, 2), /2 namespaces of 1/);
  });
});
