import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Told } from './by-hand.ts';
import { type Answers, checkShown, createUsageCheck } from './usage.ts';

const GIVEN = new Map([
  ['n1', 3],
  ['unknown', 2],
]);

class Used extends Told {
  readonly check = createUsageCheck(this.model, () => GIVEN);

  reads(name: string, count: number, total: number): void {
    const pending = this.send('GET', '/usage');
    const by_namespace = [{ name, count }];
    const body = { metered: { by_namespace, total_authenticated_queries: total } };
    const answer = { status: 200, body, headers: {} };
    this.model.answered(this.step(), pending, answer);
    this.check.answered(pending, answer, { from: this.ms, to: this.ms });
  }
}

const of = (acme: number, total: number): Answers => ({ byName: new Map([['acme', acme]]), total });

describe('the model of usage', () => {
  it('is never told above what nodes answered, where nobody knows whose', () => {
    const told = new Used().begin() as Used;
    told.reads('acme', 3, 3);
    told.reads('acme', 5, 5);
    assert.throws(() => told.reads('acme', 6, 5), /6 answers of acme are shown, and there were 5/);
    assert.throws(() => told.reads('acme', 3, 6), /6 answers of all/);
    told.model.state.namespace('unknown', 'beta', 'b');
    assert.throws(() => told.reads('acme', 4, 3), /4 answers of acme/);
  });

  it('at rest it is what the database has', () => {
    checkShown('a', of(3, 4), of(3, 4), of(3, 4));
    checkShown('a', of(3, 4), of(2, 3), of(4, 5));
    assert.throws(() => checkShown('a', of(2, 4), of(3, 4), of(3, 4)), /2 answers of acme/);
    assert.throws(() => checkShown('a', of(3, 3), of(3, 4), of(3, 4)), /3 answers of all/);
    assert.throws(() => checkShown('a', { byName: new Map(), total: 4 }, of(3, 4), of(3, 4)), /0 answers/);
  });
});
