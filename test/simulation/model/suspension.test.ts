import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { base64, KEY, Told } from './by-hand.ts';
import { createSuspensionCheck } from './suspension.ts';

const REFUSED = { error: { type: 'authorization_error', message: 'Namespace is suspended' } };

class Suspended extends Told {
  readonly check = createSuspensionCheck(this.model);

  suspend(on: boolean): void {
    this.do('OPERATOR', '/namespaces/n1', { namespace: { suspended: on } }, 200);
  }

  asks(method: string, path: string, status: number, body?: object): void {
    const pending = this.send(method, path, body);
    const answer = { status, body: status === 403 ? REFUSED : { id: 'r1' }, headers: {} };
    this.model.answered(this.step(), pending, answer);
    this.check.answered(pending, answer, { from: this.ms, to: this.ms });
  }

  writes(status: number): void {
    this.asks('POST', '/records', status, { record: { key: KEY, data: base64(`${this.ms}`) } });
  }
}

describe('the model of a suspended namespace', () => {
  it('nothing is written in it, and no token is minted, until it is lifted', () => {
    const told = new Suspended().begin() as Suspended;
    told.writes(200);
    told.suspend(true);
    told.writes(403);
    assert.throws(() => told.writes(200), /acme is suspended/);
    assert.throws(() => told.asks('POST', '/namespaces/n1/query_tokens', 200, {}), /acme is suspended/);
    told.suspend(false);
    told.writes(200);
    assert.throws(() => told.writes(403), /acme is not suspended/);
  });

  it('it can be read, and its tokens revoked', () => {
    const told = new Suspended().begin() as Suspended;
    told.suspend(true);
    told.asks('DELETE', '/namespaces/n1/query_tokens/t1', 200);
    assert.throws(() => told.asks('DELETE', '/namespaces/n1/query_tokens/t1', 403), /is not suspended/);
    assert.throws(() => told.asks('GET', '/namespaces/n1', 403), /is not suspended/);
  });

  it('while the operator has no answer both are right', () => {
    const told = new Suspended().begin() as Suspended;
    const pending = told.send('OPERATOR', '/namespaces/n1', { namespace: { suspended: true } });
    told.writes(403);
    told.writes(200);
    told.answer(pending, 200);
    assert.throws(() => told.writes(200), /acme is suspended/);
  });
});
