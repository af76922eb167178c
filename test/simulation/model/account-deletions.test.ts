import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { base64, KEY, Told } from './by-hand.ts';
import { createSuspensionCheck } from './suspension.ts';

const ME = { email: 'a@example.com' };

/** A namespace with a token and a record. */
function begun(): Told {
  const told = new Told().begin();
  told.write('r1', 'one');
  told.see('one');
  return told;
}

const settle = (told: Told): void => told.model.settled(told.step());

describe('the model of accounts that are deleted', () => {
  it('takes an answer and a refusal for right until all of it is gone, then the refusal alone', () => {
    const told = begun();
    told.do('DELETE', '/me', ME, 204);
    told.see('one', { node: 'n1' });
    told.refused({ node: 'n2' });
    settle(told);
    told.refused();
    assert.throws(() => told.see('one'), /read without a right/);
  });

  it('knows that a refused deletion sets nothing off', () => {
    const told = begun();
    told.do('DELETE', '/me', ME, 403);
    settle(told);
    told.see('one');
    assert.throws(() => told.refused(), /refused, and it may be read/);
  });

  it('knows nothing of one without an answer', () => {
    const told = begun();
    told.model.lost(told.step(), told.send('DELETE', '/me', ME), false);
    settle(told);
    told.see('one', { node: 'n1' });
    told.refused({ node: 'n2' });
  });

  it('ends what was made beside it: a namespace, a token, a record', () => {
    const told = new Told();
    const namespace = told.send('POST', '/namespaces', { namespace: { name: 'acme' } });
    const deletion = told.send('DELETE', '/me', ME);
    told.answer(namespace, 201, { id: 'n1', name: 'acme' });
    const expires = new Date(100_000).toISOString();
    told.do('POST', '/namespaces/n1/query_tokens', {}, 201, {
      id: 't1',
      token: 'secret',
      expires_at: expires,
    });
    told.write('r1', 'one');
    told.answer(deletion, 204);
    told.see('one');
    settle(told);
    assert.throws(() => told.see('one'), /read without a right/);
    told.refused();
  });

  it('ends a record that was asked for before its namespace was, while the deletion was under way (seed 133689)', () => {
    const told = new Told();
    const deletion = told.send('DELETE', '/me', ME);
    const record = {
      key: KEY,
      data: base64('one'),
      content_type: 'text/plain',
      ttl_seconds: 300,
      expires_at: null,
    };
    const write = told.send('POST', '/records', { record });
    const namespace = told.send('POST', '/namespaces', { namespace: { name: 'acme' } });
    told.answer(namespace, 201, { id: 'n1', name: 'acme' });
    told.answer(deletion, 204);
    told.answer(write, 201, { id: 'r1', ...record });
    settle(told);
    const { model } = told;
    const next = { account: 'b', credential: 'session', method: 'POST', path: '/namespaces' };
    const body = { namespace: { name: 'acme' } };
    model.answered(told.step(), model.sent(told.step(), { ...next, body }), {
      status: 201,
      body: { id: 'n2', name: 'acme' },
      headers: {},
    });
    const expires = new Date(100_000).toISOString();
    const path = '/namespaces/n2/query_tokens';
    model.answered(told.step(), model.sent(told.step(), { ...next, path, body: {} }), {
      status: 201,
      body: { id: 't2', token: 'other', expires_at: expires },
      headers: {},
    });
    told.see(null, { token: 'other' });
  });

  it('leaves the record of another customer alone, who took the name when it was free', () => {
    const told = begun();
    told.do('DELETE', '/me', ME, 204);
    settle(told);
    const { model } = told;
    const by = (path: string, body: object, answer: object): void => {
      const request = { account: 'b', credential: 'session', method: 'POST', path, body };
      model.answered(told.step(), model.sent(told.step(), request), {
        status: 201,
        body: answer,
        headers: {},
      });
    };
    by('/namespaces', { namespace: { name: 'acme' } }, { id: 'n2', name: 'acme' });
    const expires = new Date(100_000).toISOString();
    by('/namespaces/n2/query_tokens', {}, { id: 't2', token: 'other', expires_at: expires });
    const record = {
      key: KEY,
      data: base64('two'),
      content_type: 'text/plain',
      ttl_seconds: 300,
      expires_at: null,
    };
    by('/records', { record }, { id: 'r2', ...record });
    told.see('two', { token: 'other' });
    assert.throws(() => told.refused({ token: 'other' }), /refused, and it may be read/);
    assert.throws(() => told.see('two'), /read without a right/);
  });

  it('goes on after a restore, if the backup has it, and is undone if it was later', () => {
    for (const isLater of [false, true]) {
      const told = begun();
      const early = told.model.event(told.step());
      told.do('DELETE', '/me', ME, 204);
      const late = told.model.event(told.step());
      told.model.restored(told.step(), isLater ? early : late);
      settle(told);
      // Of another database: what was shown before says nothing.
      const fresh = { claim: { epoch: 'f', currentAt: told.ms + 500 } };
      if (isLater) told.see('one', fresh);
      else told.refused(fresh);
      const wrong = isLater ? () => told.refused(fresh) : () => told.see('one', fresh);
      assert.throws(wrong, isLater ? /may be read/ : /without a right/);
    }
  });

  it('knows that nobody gets rid of a suspended namespace so, and that nobody else is refused', () => {
    const told = begun();
    const check = createSuspensionCheck(told.model);
    const leaves = (status: number): void => {
      const pending = told.send('DELETE', '/me', ME);
      told.answer(pending, status);
      check.answered(pending, { status, body: null, headers: {} }, { from: told.ms, to: told.ms });
    };
    assert.throws(() => leaves(403), /none of its namespaces is suspended/);
    told.do('OPERATOR', '/namespaces/n1', { namespace: { suspended: true } }, 200);
    leaves(403);
    assert.throws(() => leaves(204), /its namespace acme is suspended/);
  });
});
