import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { base64, FIELDS, KEY, Told } from './by-hand.ts';
import { createChangesCheck } from './changes.ts';
import type { Pending } from './model.ts';

/** A reader of all changes of the account, with each page in a second of its own. */
class Followed extends Told {
  readonly check = createChangesCheck(this.model);
  readonly reader = this.check.begin('a', 0);

  override answer(pending: Pending, status: number, body: unknown = null, headers = {}): void {
    super.answer(pending, status, body);
    this.check.answered(pending, { status, body, headers }, { from: 0, to: 0 });
  }

  put(id: string, text: string, etag: string, key = KEY): void {
    const record = { key, data: base64(text), ...FIELDS };
    this.answer(this.send('POST', '/records', { record }), 201, { id, ...record }, { etag });
  }

  page(...changes: readonly (readonly [event: string, etag?: string, key?: string])[]): void {
    const told = changes.map(([event, etag, key = KEY]) => ({
      event,
      namespace: 'acme',
      ...(event.startsWith('record') && { key }),
      ...(etag !== undefined && { etag }),
    }));
    const asked = this.model.event(this.step());
    this.model.event(this.ms);
    const { length } = this.reader.heard;
    try {
      this.check.page(this.reader, told, asked, true);
    } catch (error) {
      this.reader.heard.length = length;
      throw error;
    }
  }
}

const begun = (): Followed => new Followed().begin() as Followed;

describe('the model of /changes', () => {
  it('each write is told once, in the order in which they were made', () => {
    const told = begun();
    told.put('r1', 'one', '"1"');
    told.page(['record.upserted', '"1"']);
    assert.throws(() => told.page(['record.upserted', '"1"']), /one twice/);
    told.answer(told.send('DELETE', '/records/r1'), 204);
    assert.throws(() => told.page(), /lacks a write of k\.doc/);
    told.page(['record.deleted']);
    assert.throws(() => told.page(['record.deleted']), /one twice/);
    told.put('r2', 'two', '"2"');
    told.put('r3', 'three', '"3"', 'l.doc.acme.v1');
    assert.throws(
      () => told.page(['record.upserted', '"3"', 'l.doc.acme.v1'], ['record.upserted', '"2"']),
      /comes too late/,
    );
  });

  it('nothing is told that nobody wrote, or that was refused', () => {
    const told = begun();
    assert.throws(() => told.page(['record.upserted', '"9"']), /of no write|than there were writes/);
    told.answer(told.send('PATCH', '/records/r1', { record: {} }), 404);
    assert.throws(() => told.page(['record.upserted', '"9"']), /of no write|than there were writes/);
    assert.throws(() => told.page(['namespace.closing']), /nobody asked for it/);
  });

  it('a write without an answer may be told or not, and once it was it has happened', () => {
    const told = begun();
    told.put('r1', 'one', '"1"');
    const patch = { record: { data: base64('two') } };
    told.model.lost(told.step(), told.send('PATCH', '/records/r1', patch), false);
    told.page(['record.upserted', '"1"']);
    told.see('one');
    told.page(['record.upserted', '"2"']);
    assert.throws(() => told.see('one', { node: 'n2' }), /not the envelope/);
  });

  it('a bulk write is told item by item, without deletions of nothing', () => {
    const told = begun();
    const records = ['a', 'b'].map((name) => ({ key: `${name}.doc.acme.v1`, data: base64(name) }));
    const body = { records, delete: ['c.doc.acme.v1'] };
    const answer = { records: records.map(({ key }, i) => ({ id: `r${i}`, key })), deleted: [null] };
    told.answer(told.send('POST', '/records/bulk', body), 200, answer);
    assert.throws(() => told.page(['record.upserted', '"1"', 'a.doc.acme.v1']), /lacks a write of b\.doc/);
    told.page(['record.upserted', '"1"', 'a.doc.acme.v1'], ['record.upserted', '"1"', 'b.doc.acme.v1']);
  });

  it('a bulk write may have the tag of a write of the same millisecond, and each is told once', () => {
    const told = begun();
    const record = { key: KEY, data: base64('bulk') };
    const answer = { records: [{ id: 'r1', key: KEY }], deleted: [] };
    told.answer(told.send('POST', '/records/bulk', { records: [record] }), 200, answer);
    told.answer(told.send('DELETE', '/records/r1'), 204);
    told.put('r2', 'two', '"1"');
    const one = ['record.upserted', '"1"'] as const;
    assert.throws(() => told.page(one, ['record.deleted']), /lacks a write of k\.doc/);
    assert.throws(() => told.page(one, ['record.deleted'], one, one), /one twice/);
    told.page(one, ['record.deleted'], one);
  });

  it('the deletion of a namespace is told once, and what went with it is not', () => {
    const told = begun();
    told.put('r1', 'one', '"1"');
    told.page(['record.upserted', '"1"']);
    told.answer(told.send('DELETE', '/namespaces/n1'), 204);
    assert.throws(() => told.page(), /lacks the deletion of acme/);
    told.page(['namespace.closing'], ['namespace.deleted']);
    assert.throws(() => told.page(['namespace.closing']), /the deletion of acme twice/);
  });

  it('a page that has waited in vain was read at the end of the wait', () => {
    const told = begun();
    const wait = (ms: number): void => {
      const asked = told.model.event(told.step());
      told.put('r1', 'one', '"1"');
      told.ms += ms;
      told.model.event(told.ms);
      told.check.page(told.reader, [], asked, true, 10_000);
    };
    // It was answered before its time: the server had to end it, and what was written meanwhile comes later.
    wait(3_000);
    told.page(['record.upserted', '"1"']);
    assert.throws(() => wait(20_000), /lacks/);
  });

  it('what was before the reader began is not missing', () => {
    const told = begun();
    told.put('r1', 'one', '"1"');
    const reader = told.check.begin('a', told.model.now());
    told.check.page(reader, [], told.model.event(told.step()), true);
  });
});
