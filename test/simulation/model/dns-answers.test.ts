import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { base64, FIELDS, KEY, Told } from './by-hand.ts';

const STALE = { claim: { epoch: 'e', currentAt: null } };

describe('the model of DNS answers', () => {
  it('allows what was acknowledged, and nothing else, on a node that claims to be current', () => {
    const told = new Told().begin();
    told.see(null);
    told.write('r1', 'one');
    told.see('one');
    assert.throws(() => told.see(null), /empty, and there is a record/);
    assert.throws(() => told.see('two'), /a payload that nobody wrote here/);
    assert.throws(() => told.see('one', { node: 'n2', key: 'other.doc.acme.v1' }), /nobody wrote here/);
    told.do('DELETE', '/records/r1', undefined, 204);
    told.see(null);
    assert.throws(() => told.see('one'), /there is no record/);
  });

  it('a stale node may have any state since what it has shown, and never one before', () => {
    const told = new Told().begin();
    told.write('r1', 'one');
    told.do('PATCH', '/records/r1', { record: { data: base64('two') } }, 200, {
      id: 'r1',
      key: KEY,
      ...FIELDS,
    });
    told.see(null, STALE);
    told.see('one', STALE);
    assert.throws(() => told.see(null, STALE), /empty, and there is a record/);
    told.see('two', STALE);
    assert.throws(() => told.see('one', STALE), /not the envelope/);
    told.see('one', { ...STALE, node: 'n2' });
    // Another database, of which this node is a copy from before.
    told.see('one', { claim: { epoch: 'f', currentAt: null } });
  });

  it('a node that has refused a revoked token never honours it again', () => {
    const told = new Told().begin();
    told.write('r1', 'one');
    told.see('one', STALE);
    told.do('DELETE', '/namespaces/n1/query_tokens/t1', undefined, 204);
    told.see('one', STALE);
    told.refused(STALE);
    assert.throws(() => told.see('one', STALE), /read without a right/);
    assert.throws(() => told.see('one', { node: 'n2' }), /read without a right/);
  });

  it('tokens of a deleted namespace end one after the other, and none opens it again', () => {
    const told = new Told().begin();
    const token = { id: 't2', token: 'other', expires_at: new Date(100_000).toISOString() };
    told.do('POST', '/namespaces/n1/query_tokens', { name: 't' }, 201, token);
    told.write('r1', 'one');
    told.see('one', STALE);
    told.do('DELETE', '/namespaces/n1', undefined, 204);
    told.refused(STALE);
    told.see('one', { ...STALE, token: 'other' });
    assert.throws(() => told.see('one', STALE), /read without a right/);
    told.refused({ ...STALE, token: 'other' });
    assert.throws(() => told.see('one', { ...STALE, token: 'other' }), /read without a right/);
  });

  it('what control says that a node has applied counts as shown', () => {
    const told = new Told().begin();
    told.write('r1', 'one');
    const pending = told.send('DELETE', '/records/r1');
    told.answer(pending, 204);
    told.see('one', STALE);
    told.dns.applied('n1', pending.writes[0]!.write);
    assert.throws(() => told.see('one', STALE), /there is no record/);
  });

  it('a write without an answer may be there or not, until somebody sees it', () => {
    const told = new Told().begin();
    told.write('r1', 'one');
    const pending = told.send('PATCH', '/records/r1', { record: { data: base64('two') } });
    told.model.lost(told.step(), pending, false);
    told.see('one');
    told.see('two', { node: 'n2' });
    assert.throws(() => told.see('one'), /not the envelope/);
    const refusedOne = told.send('PATCH', '/records/r1', { record: { data: base64('three') } });
    told.answer(refusedOne, 412);
    assert.throws(() => told.see('three'), /nobody wrote here/);
  });

  it('of two writes at once either may be the last', () => {
    const told = new Told().begin();
    told.write('r1', 'one');
    const a = told.send('PATCH', '/records/r1', { record: { data: base64('a') } });
    const b = told.send('PATCH', '/records/r1', { record: { data: base64('b') } });
    told.answer(a, 200, { id: 'r1', key: KEY, ...FIELDS });
    told.answer(b, 200, { id: 'r1', key: KEY, ...FIELDS });
    told.see('a');
    assert.throws(() => told.see('one'), /not the envelope/);
    // A deletion of the record came after both.
    told.see('b', { node: 'n2' });
  });

  it('the TTL, format and hint are those of record and namespace', () => {
    const told = new Told().begin();
    told.do('OPERATOR', '/namespaces/n1', { namespace: { public_read: true } }, 200);
    told.do('PATCH', '/namespaces/n1', { namespace: { max_ttl: 20 } }, 200);
    told.write('r1', 'one', { expires_at: new Date(30_000).toISOString() });
    const text = `v=svc1;s=ok;t=data;e=b64;f=text;ttl=300;d=${base64('one')}`;
    told.see(null, { answers: [{ text, ttl: Math.floor((30_000 - told.ms - 1000) / 1000) }], token: null });
    assert.throws(() => told.see('one', { token: null }), /a TTL of 0/);
    assert.throws(
      () => told.see(null, { answers: [{ text: text.replace('f=text', 'f=json'), ttl: 10 }] }),
      /not the envelope/,
    );
    assert.throws(
      () => told.see(null, { answers: [{ text: text.replace('ttl=300', 'ttl=9'), ttl: 10 }] }),
      /not the envelope/,
    );
    told.ms = 29_000;
    told.see(null, { token: null });
    assert.throws(() => told.see(null, { answers: [{ text, ttl: 0 }] }), /the record has expired/);
  });

  it('a record is there until its expiry, a token is honoured until its own', () => {
    const told = new Told().begin();
    told.write('r1', 'one', { expires_at: new Date(50_000).toISOString() });
    told.see('one');
    assert.throws(() => told.see(null), /empty, and there is a record/);
    assert.throws(() => told.refused(), /refused, and it may be read/);
    told.ms = 60_000;
    told.see(null);
    told.ms = 100_000;
    told.refused();
    assert.throws(() => told.see(null), /read without a right/);
  });

  it('a suspended or closed namespace is refused', () => {
    const told = new Told().begin();
    told.write('r1', 'one');
    told.do('OPERATOR', '/namespaces/n1', { namespace: { suspended: true } }, 200);
    told.refused();
    assert.throws(() => told.see('one'), /read without a right/);
    told.do('OPERATOR', '/namespaces/n1', { namespace: { suspended: false } }, 200);
    told.see('one');
    told.do('DELETE', '/namespaces/n1', undefined, 204);
    told.refused();
    told.refused({ token: null });
    told.refused({ token: 'unknown', key: 'k.doc.nobody.v1' });
    assert.throws(() => told.see(null), /read without a right/);
    // Somebody takes the name: neither the token nor the record is there.
    told.do('POST', '/namespaces', { namespace: { name: 'acme' } }, 201, { id: 'n2', name: 'acme' });
    told.refused();
    told.do('OPERATOR', '/namespaces/n2', { namespace: { public_read: true } }, 200);
    told.see(null);
    assert.throws(() => told.see('one'), /there is no record/);
  });

  it('a payload that the log may have lost is withheld, and what was there before is not shown again', () => {
    const told = new Told().begin();
    const withheld = (node: string, currentAt: number | null): void =>
      told.see(null, { node, claim: { epoch: 'e', currentAt }, token: null, rcode: 'SERVFAIL' });
    const before = { node: 'n1', ...STALE, token: null };
    const patch = (data: string, rest = {}): void => {
      const record = { data: base64(data), ...rest };
      told.do('PATCH', '/records/r1', { record }, 200, { id: 'r1', key: KEY, ...FIELDS, ...record });
    };
    told.write('r1', 'one');
    patch('two', { expires_at: new Date(told.ms + 30_000).toISOString() });
    told.do('OPERATOR', '/namespaces/n1', { namespace: { public_read: true } }, 200);
    // Nothing can have replaced it.
    assert.throws(() => withheld('n1', null), /SERVFAIL for a name that is right/);
    const text = `v=svc1;s=ok;t=data;e=b64;f=text;ttl=300;d=${base64('one')}`;
    assert.throws(() => told.see(null, { ...before, answers: [{ text, ttl: 60 }] }), /not the envelope/);
    told.ms += 40_000;
    assert.throws(() => withheld('n2', told.ms), /SERVFAIL/);
    // Who deletes what has expired may have done so.
    withheld('n1', null);
    assert.throws(
      () => told.see(null, { ...before, token: 'unknown', key: 'k.doc.nobody.v1', rcode: 'SERVFAIL' }),
      /SERVFAIL/,
    );
  });

  it('other types have empty answers, whoever may read', () => {
    const told = new Told().begin();
    told.see(null, { type: 'A', token: null });
    assert.throws(() => told.refused({ type: 'A', token: null }), /REFUSED for another type/);
  });

  it('a request that is repeated under its key has one effect', () => {
    const told = new Told().begin();
    const record = { key: KEY, data: base64('one'), ...FIELDS };
    const headers = { 'idempotency-key': 'i1' };
    const first = told.send('POST', '/records', { record }, headers);
    told.model.lost(told.step(), first, false);
    told.answer(told.send('POST', '/records', { record }, headers), 201, { id: 'r1', ...record });
    told.do('DELETE', '/records/r1', undefined, 204);
    told.answer(told.send('POST', '/records', { record }, headers), 201, { id: 'r1', ...record });
    told.see(null);
    assert.throws(() => told.see('one'), /there is no record/);
  });

  it('after a restored backup nodes have what it had, once they know of it', () => {
    const told = new Told().begin();
    told.write('r1', 'one');
    const backup = told.model.now();
    told.do('DELETE', '/records/r1', undefined, 204);
    told.see(null);
    told.model.restored(told.step(), backup);
    told.see('one', { claim: { epoch: 'f', currentAt: told.ms + 1000 } });
    assert.throws(() => told.see(null, { node: 'n2' }), /empty, and there is a record/);
  });

  it('of two requests that come with one idempotency key at once either may be the first (seed 545249312)', () => {
    const told = new Told().begin();
    const headers = { 'idempotency-key': 'i1' };
    const record = { key: KEY, data: base64('one'), ...FIELDS };
    const other = told.send('POST', '/records', { record: { ...record, data: base64('two') } }, headers);
    const first = told.send('POST', '/records', { record }, headers);
    told.answer(first, 201, { id: 'r1', ...record });
    told.answer(other, 422);
    told.do('DELETE', '/records/r1', undefined, 204);
    told.answer(told.send('POST', '/records', { record }, headers), 201, { id: 'r1', ...record });
    told.see(null);
    assert.throws(() => told.see('one'), /there is no record/);
  });
});
