import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAccessCheck } from './access.ts';
import { base64, KEY, Told } from './by-hand.ts';

/** Requests by one API key. */
class Keyed extends Told {
  readonly check = createAccessCheck(this.model);

  by(
    credential: string,
    method: string,
    path: string,
    body: unknown,
    status: number,
    answer: unknown = null,
  ): void {
    const pending = this.model.sent(this.step(), { account: 'a', credential, method, path, body });
    this.model.answered(this.step(), pending, { status, body: answer, headers: {} });
    this.check.answered(pending, { status, body: answer, headers: {} }, { from: this.ms, to: this.ms });
  }

  key(operations: readonly string[], namespaces: readonly string[]): this {
    this.by('session', 'POST', '/api_keys', {}, 201, { id: 'k1', scopes: { operations, namespaces } });
    return this;
  }
}

const RECORD = { record: { key: KEY, data: base64('one') } };

describe('the model of API keys', () => {
  it('what a key may is answered, and what it may not is refused', () => {
    const told = (new Keyed().begin() as Keyed).key(['write'], ['acme']);
    told.by('key k1', 'POST', '/records', RECORD, 201, { id: 'r1', key: KEY });
    const shown = { id: 'r1', key: KEY, data: base64('one') };
    assert.throws(() => told.by('key k1', 'POST', '/records', RECORD, 201, shown), /data for a key/);
    told.by('key k1', 'GET', '/records/r1', undefined, 403);
    assert.throws(() => told.by('key k1', 'GET', '/records/r1', undefined, 200, {}), /may not read/);
    const other = { record: { ...RECORD.record, key: 'k.doc.other.v1' } };
    assert.throws(
      () => told.by('key k1', 'POST', '/records', other, 201, { id: 'r2' }),
      /does not reach other/,
    );
    told.by('key k1', 'POST', '/records', other, 403);
  });

  it('a key that is revoked does nothing more', () => {
    const told = (new Keyed().begin() as Keyed).key([], []);
    told.by('key k1', 'GET', '/records', undefined, 200, []);
    told.by('session', 'DELETE', '/api_keys/k1', undefined, 204);
    told.by('key k1', 'GET', '/records', undefined, 401);
    assert.throws(() => told.by('key k1', 'GET', '/records', undefined, 200, []), /was revoked/);
  });

  it('an account that is deleted does nothing more, by session or key', () => {
    const told = (new Keyed().begin() as Keyed).key([], []);
    told.by('session', 'DELETE', '/me', { email: 'a@example.com' }, 204);
    for (const credential of ['session', 'key k1']) {
      told.by(credential, 'GET', '/records', undefined, 401);
      assert.throws(
        () => told.by(credential, 'GET', '/records', undefined, 200, []),
        /the account was deleted/,
      );
    }
  });
});
