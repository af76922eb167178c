import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addCustomer, ENGINES } from '../../test/support/control/webhooks/dispatch-world.ts';
import { withStore } from '../../test/support/store/fixtures.ts';
import { findRows } from '../../test/support/store/rows.ts';
import { LIMITS } from '../base/limits.ts';
import type { AuditAction } from '../protocol/audit.ts';
import { addAuditRows, type NewAuditRow } from './audit.ts';
import { openAuditRetention } from './audit-retention.ts';
import type { Store } from './store.ts';

const DAY = 86_400_000;
const NOW = 1_000 * DAY;
const MANY = 20_000;

function row(customerId: string, at: number, action: AuditAction): NewAuditRow {
  return {
    customer_id: customerId,
    at,
    request_id: null,
    actor_kind: 'operator',
    actor_id: null,
    actor_name: null,
    action,
    outcome: 'done',
    object_kind: null,
    object_id: null,
    object_name: null,
    namespace: null,
    count: null,
    tag_before: null,
    tag_after: null,
    seq: null,
  };
}

async function add(
  store: Store,
  id: string,
  from: number,
  count: number,
  action: AuditAction,
): Promise<void> {
  for (let i = 0; i < count; i += MANY) {
    const some = Array.from({ length: Math.min(MANY, count - i) }, (_, j) => row(id, from + i + j, action));
    await store.write((tx) => addAuditRows(tx, some));
  }
}

for (const { name, create, skip } of ENGINES) {
  describe(`retention of the audit log, ${name}`, { skip }, () => {
    it('deletes rows past their days, of every customer', () =>
      withStore(create, async (store) => {
        const ids = [await addCustomer(store, 'one'), await addCustomer(store, 'two')];
        for (const id of ids) {
          await add(store, id, NOW - 90 * DAY - 1_200, 1_200, 'api_key.created');
          await add(store, id, NOW - 90 * DAY, 2, 'api_key.created');
        }
        const prune = openAuditRetention(store);
        await prune({ now: NOW, keep: 90 * DAY, signal: new AbortController().signal });
        const left = await findRows(store.read, 'audit_log', { columns: ['at'], order: 'at' });
        const kept = [NOW - 90 * DAY, NOW - 90 * DAY + 1];
        assert.deepEqual(
          left.map(({ at }) => at),
          [kept[0], kept[0], kept[1], kept[1]],
        );
      }));

    it('deletes the oldest rows of records above the number of a customer, then any', () =>
      withStore(create, async (store) => {
        const id = await addCustomer(store, 'one');
        const prune = openAuditRetention(store);
        const run = () => prune({ now: NOW, keep: 400 * DAY, signal: new AbortController().signal });
        const count = async (action: AuditAction) =>
          (await findRows(store.read, 'audit_log', { columns: ['id'], where: { action } })).length;
        await add(store, id, NOW - DAY, 10, 'api_key.created');
        await add(store, id, NOW - DAY + 10, LIMITS.auditRows - 10, 'record.created');
        await run();
        assert.equal(await count('record.created'), LIMITS.auditRows - 10);
        await add(store, id, NOW - 1_000, 30, 'versions.read');
        await run();
        const left = [
          await count('api_key.created'),
          await count('record.created'),
          await count('versions.read'),
        ];
        assert.deepEqual(left, [10, LIMITS.auditRows - 40, 30]);
        const [oldest] = await findRows(store.read, 'audit_log', {
          columns: ['at'],
          where: { action: 'record.created' },
          order: 'at limit 1',
        });
        assert.equal(oldest?.at, NOW - DAY + 40);
      }));

    it('leaves rows that are no records when they alone are too many, except the oldest', () =>
      withStore(create, async (store) => {
        const id = await addCustomer(store, 'one');
        await add(store, id, NOW - DAY, LIMITS.auditRows + 700, 'versions.read');
        const signal = new AbortController().signal;
        await openAuditRetention(store)({ now: NOW, keep: 400 * DAY, signal });
        const left = await findRows(store.read, 'audit_log', { columns: ['at'], order: 'at' });
        assert.equal(left.length, LIMITS.auditRows);
        assert.equal(left[0]?.at, NOW - DAY + 700);
      }));
  });
}
