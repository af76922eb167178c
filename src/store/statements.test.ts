import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { withStore } from '../../test/support/store/fixtures.ts';
import { madeStatements } from './engine/statement.ts';
import type { Tx } from './store.ts';

/** Loads every module of the store, so that it makes its statements. */
async function allStatements(): Promise<number> {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
    await import(join(import.meta.dirname, file));
  }
  return madeStatements().length;
}

/** A value for each parameter, of a kind that every column takes: only lists and objects of JSON are told from their casts. */
function valuesOf(sql: string): unknown[] {
  const numbers = [...sql.matchAll(/[$?](\d+)/g)].map(([, number]) => Number(number));
  const count = numbers.length === 0 ? sql.split('?').length - 1 : Math.max(...numbers);
  return Array.from({ length: count }, (_, i) => {
    if (new RegExp(`(\\$${i + 1}::\\w+|cast\\(\\$${i + 1} as \\w+)\\[\\]`).test(sql)) return [];
    return sql.includes(`cast($${i + 1} as json)`) ? '{}' : 1;
  });
}

/** Whether a row was refused that has no meaning: the statement itself was understood and run. */
function isConstraint(error: unknown): boolean {
  const { errcode, code } = error as { errcode?: number; code?: unknown };
  return errcode === undefined ? /^23/.test(String(code)) : (errcode & 0xff) === 19;
}

/** @returns what the engine says against the statement; null when it ran */
async function faultOf(tx: Tx, sql: string): Promise<string | null> {
  await tx.execute('savepoint one', []);
  const fault = await tx.execute(sql, valuesOf(sql)).then(
    () => null,
    (error: unknown) => (isConstraint(error) ? null : `${(error as Error).message}: ${sql}`),
  );
  await tx.execute('rollback to savepoint one', []);
  await tx.execute('release savepoint one', []);
  return fault;
}

async function faultsOn(db: Tx): Promise<string[]> {
  const texts = madeStatements().map((made) => made[db.engine]);
  const faults: string[] = [];
  for (const sql of new Set(texts)) faults.push((await faultOf(db, sql)) ?? '');
  return faults.filter((fault) => fault !== '');
}

/** Every statement runs on both engines, also one that no other test calls. */
onEachEngine((create) => {
  describe('every statement', () => {
    it('is run', () =>
      withStore(create, async (store) => {
        assert.ok((await allStatements()) > 250);
        assert.deepEqual(await store.write(faultsOn), []);
      }));
  });
});
