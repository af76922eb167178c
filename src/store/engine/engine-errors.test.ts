import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isBusy, isDiskFull, isTransient, isUniqueViolation } from './engine-errors.ts';

describe('engine errors', () => {
  const fault = (fields: object): Error => Object.assign(new Error('fault'), fields);
  const table: readonly (readonly [
    title: string,
    error: unknown,
    unique: boolean,
    busy: boolean,
    again: boolean,
  ])[] = [
    ['SQLite unique', fault({ errcode: 2067 }), true, false, false],
    ['SQLite primary key', fault({ errcode: 1555 }), true, false, false],
    ['SQLite foreign key', fault({ errcode: 787 }), false, false, false],
    ['SQLite busy', fault({ errcode: 5 }), false, true, false],
    ['SQLite busy in recovery', fault({ errcode: 261 }), false, true, false],
    ['SQLite locked', fault({ errcode: 6 }), false, false, false],
    ['PostgreSQL unique', fault({ code: '23505' }), true, false, false],
    ['PostgreSQL foreign key', fault({ code: '23503' }), false, false, false],
    ['PostgreSQL serialization', fault({ code: '40001' }), false, false, true],
    ['PostgreSQL deadlock', fault({ code: '40P01' }), false, false, true],
    ['any other', new Error('23505'), false, false, false],
    ['nothing', undefined, false, false, false],
    ['null', null, false, false, false],
    ['text', '23505', false, false, false],
  ];
  for (const [title, error, unique, busy, again] of table) {
    it(title, () => {
      assert.deepEqual([isUniqueViolation(error), isBusy(error), isTransient(error)], [unique, busy, again]);
    });
  }

  it('a full disk is told from other faults, on either engine', () => {
    const full = [fault({ errcode: 13 }), fault({ code: '53100' })];
    const other = [fault({ errcode: 5 }), fault({ errcode: 10 }), fault({ code: '53200' }), null];
    assert.deepEqual(full.map(isDiskFull), [true, true]);
    assert.deepEqual(other.map(isDiskFull), [false, false, false, false]);
  });
});
