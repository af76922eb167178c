import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { base64, FIELDS, KEY, Told } from './by-hand.ts';
import { createRestCheck } from './rest-reads.ts';

/** Reads over REST, each in a second of its own. */
class Reads extends Told {
  readonly check = createRestCheck(this.model, { ahead: () => 0 });

  read(path: string, body: unknown, status = 200, credential = 'session'): void {
    const request = { account: 'a', credential, method: 'GET', path };
    const pending = this.model.sent(this.step(), request);
    const answer = { status, body, headers: {} };
    this.model.answered(this.ms, pending, answer);
    this.check.answered(pending, answer, { from: this.ms, to: this.ms });
  }
}

const shown = (text: string, more: object = {}): object => ({
  id: 'r1',
  key: KEY,
  data: base64(text),
  ...FIELDS,
  ...more,
});

const begun = (): Reads => new Reads().begin() as Reads;

describe('the model of reads over REST', () => {
  it('an acknowledged write is shown, by itself and in listings, until it is replaced', () => {
    const told = begun();
    told.write('r1', 'one');
    told.read('/records/r1', shown('one'));
    told.read('/records', [shown('one')]);
    told.read('/records?namespace=other', []);
    assert.throws(() => told.read('/records/r1', null, 404), /lacks k\.doc\.acme\.v1/);
    assert.throws(() => told.read('/records', []), /the listing lacks/);
    assert.throws(() => told.read('/records', [shown('one'), shown('one')]), /a record twice/);
    assert.throws(() => told.read('/records/r1', shown('one', { ttl_seconds: 9 })), /REST shows/);
    told.do('DELETE', '/records/r1', undefined, 204);
    told.read('/records', []);
    assert.throws(() => told.read('/records/r1', shown('one')), /REST shows/);
  });

  it('a refused write is never shown, and one without an answer stays once it was', () => {
    const told = begun();
    told.write('r1', 'one');
    told.do('PATCH', '/records/r1', { record: { data: base64('two') } }, 412);
    assert.throws(() => told.read('/records/r1', shown('two')), /REST shows/);
    told.model.lost(
      told.step(),
      told.send('PATCH', '/records/r1', { record: { data: base64('three') } }),
      false,
    );
    told.read('/records/r1', shown('one'));
    told.read('/records', [shown('three')]);
    assert.throws(() => told.read('/records/r1', shown('one')), /REST shows/);
    assert.throws(() => told.see('one'), /not the envelope/);
  });

  it('a read that was sent before a change shows the one before it, though another read has shown the change', () => {
    const told = begun();
    const record = {
      key: KEY,
      data: base64('one'),
      content_type: 'text/plain',
      ttl_seconds: 300,
      expires_in: 17,
    };
    told.do('POST', '/records/bulk', { records: [record] }, 200, {
      records: [{ id: 'r1', key: KEY }],
      deleted: [],
    });
    const early = { account: 'a', credential: 'session', method: 'GET', path: '/records/r1' };
    const pending = told.model.sent(told.step(), early);
    told.do('PATCH', '/records/r1', { record: { expires_in: 0 } }, 200, shown('one'));
    told.read('/records/r1', shown('one'));
    const clock = { from: told.ms, to: told.ms };
    for (const body of [shown('one'), shown('one', { expires_at: new Date(40_000).toISOString() })]) {
      told.check.answered(pending, { status: 200, body, headers: {} }, clock);
    }
  });

  it('pages, keys with an allowlist and other accounts lack what they lack', () => {
    const told = begun();
    told.write('r1', 'one');
    told.read('/records?limit=3', []);
    told.read('/records', [], 200, 'key 1');
  });

  it('what has expired is not shown, and what has not is', () => {
    const told = begun();
    const expires_at = new Date(20_000).toISOString();
    told.write('r1', 'one', { expires_at });
    told.read('/records', [shown('one', { expires_at })]);
    assert.throws(() => told.read('/records', []), /the listing lacks/);
    told.ms = 20_000;
    told.read('/records', []);
    assert.throws(() => told.read('/records/r1', shown('one', { expires_at })), /has expired/);
  });

  it('namespaces show their settings until they are deleted', () => {
    const told = begun();
    const space = { id: 'n1', name: 'acme', max_ttl: 60 };
    told.read('/namespaces', [space]);
    told.do('PATCH', '/namespaces/n1', { namespace: { max_ttl: 5 } }, 200);
    told.do('OPERATOR', '/namespaces/n1', { namespace: { public_read: true } }, 200);
    told.read('/namespaces', [{ ...space, max_ttl: 5, public_read: true }]);
    assert.throws(() => told.read('/namespaces', [{ ...space, public_read: true }]), /max_ttl 60/);
    assert.throws(() => told.read('/namespaces', [{ ...space, max_ttl: 5 }]), /public_read false/);
    told.do('DELETE', '/namespaces/n1', undefined, 204);
    told.read('/namespaces', []);
    assert.throws(
      () => told.read('/namespaces', [{ ...space, max_ttl: 5, public_read: true }]),
      /was deleted/,
    );
  });

  it('what was written while its namespace was being deleted is gone with it, though its key was asked for before', () => {
    const told = begun();
    const deletion = told.send('DELETE', '/namespaces/n1');
    told.see(null);
    told.write('r1', 'one');
    told.answer(deletion, 204);
    told.do('POST', '/namespaces', { namespace: { name: 'acme' } }, 201, { id: 'n2', name: 'acme' });
    told.read('/records', []);
  });

  it('after a restore a repeat writes what the backup lacks, or is told what is stored', () => {
    const repeated = { 'idempotency-key': 'i1' };
    const record = { key: KEY, data: base64('one'), ...FIELDS };
    const post = (told: Reads, id: string): void =>
      told.answer(told.send('POST', '/records', { record }, repeated), 201, { id, ...record });
    const lacking = begun();
    const before = lacking.model.now();
    post(lacking, 'r1');
    lacking.model.restored(lacking.step(), before);
    assert.throws(() => lacking.read('/records', [shown('one')]), /REST shows/);
    post(lacking, 'r2');
    lacking.read('/records', [shown('one', { id: 'r2' })]);
    const stored = begun();
    post(stored, 'r1');
    stored.do('DELETE', '/records/r1', undefined, 204);
    stored.model.restored(stored.step(), stored.model.now());
    post(stored, 'r1');
    stored.read('/records', []);
  });

  it('what was under way when a standby took the place of the database may be lost, or be done on it', () => {
    for (const isDone of [true, false]) {
      const told = begun();
      const copied = told.model.now();
      const record = { key: KEY, data: base64('one'), ...FIELDS };
      const post = told.send('POST', '/records', { record });
      told.write('r2', 'two');
      told.model.restored(told.step(), copied, true);
      told.model.lost(told.step(), post, true);
      assert.throws(() => told.read('/records', [shown('two', { id: 'r2' })]), /REST shows/);
      told.read('/records', isDone ? [shown('one')] : []);
    }
  });

  it('what was asked of processes that are down when a backup is put back is not done any more', () => {
    const told = begun();
    const copied = told.model.now();
    const record = { key: KEY, data: base64('one'), ...FIELDS };
    told.model.lost(told.step(), told.send('POST', '/records', { record }), true);
    told.model.restored(told.step(), copied);
    assert.throws(() => told.read('/records', [shown('one')]), /REST shows/);
  });
});
