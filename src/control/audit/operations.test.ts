import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MARKER, PAYLOAD, REQUESTS } from '../../../test/support/control/audit/requests.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { operationsOf } from '../../../test/support/http/openapi/document.ts';
import { publishedDocument } from '../../../test/support/http/openapi/published.ts';
import { type Answer, openWorld } from '../../../test/support/http/world.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import type { AuditRow } from '../../store/audit.ts';
import type { Store } from '../../store/store.ts';
import { AUDITED_OPERATIONS, NO_ACTION } from './operations.ts';

const CHANGES: ReadonlySet<string> = new Set(['POST', 'PATCH', 'PUT', 'DELETE']);
/** Reads that are actions. */
const READS: ReadonlySet<string> = new Set(['exportRecords', 'getRecordVersion']);

describe('the table of audited operations', () => {
  it('has each request that changes anything, and no other', async () => {
    const operations = operationsOf(await publishedDocument());
    const wanted = operations
      .filter(({ method, operation }) => CHANGES.has(method) || READS.has(operation.operationId))
      .map(({ operation }) => operation.operationId);
    const known = [...Object.keys(AUDITED_OPERATIONS), ...Object.keys(NO_ACTION)];
    assert.deepEqual(known.toSorted(), wanted.toSorted());
  });

  it('has a request in the fixtures for each of its operations', () => {
    assert.deepEqual(Object.keys(REQUESTS).toSorted(), Object.keys(AUDITED_OPERATIONS).toSorted());
  });
});

/** What an answer shows once. */
function secretsIn(body: Readonly<Record<string, unknown>> | null): string[] {
  return ['token', 'secret', 'signing_secret'].flatMap((name) => {
    const value = body?.[name];
    return typeof value === 'string' ? [value] : [];
  });
}

apiScenarios('the row of each request', {
  'is one, of the right action, in the right log, with the id of the request': async (store) => {
    const world = await openWorld(store);
    const secrets: string[] = [];
    for (const [name, request] of Object.entries(REQUESTS)) {
      const [answer, customer] = await request(world);
      assert.ok(answer.status < 300, `${name}: ${answer.text}`);
      const rows = await rowsOf(store, answer);
      const { action } = AUDITED_OPERATIONS[name]!;
      assert.deepEqual(
        rows.map((row) => [row.action, row.customer_id, row.outcome, row.actor_kind]),
        [[action, customer, 'done', 'user']],
        name,
      );
      assert.notEqual(rows[0]!.object_kind, null, name);
      secrets.push(...secretsIn(answer.json));
    }
    const log = await findRows(store.read, 'audit_log');
    const text = JSON.stringify(log);
    secrets.push(...world.invitations.map(({ token }) => token));
    assert.ok(secrets.length > 8);
    for (const secret of [...secrets, PAYLOAD, MARKER, 'lightMyRequest', '127.0.0.1', 'a.example']) {
      assert.equal(text.includes(secret), false, 'the audit log has something private');
    }
    const codes = new Set<unknown>(world.mails.map(({ code }) => code));
    assert.ok(log.every((row) => Object.values(row).every((value) => !codes.has(value))));
    await world.close();
  },
});

function rowsOf(store: Store, { headers }: Answer): Promise<AuditRow[]> {
  return findRows(store.read, 'audit_log', { where: { request_id: String(headers['x-request-id']) } });
}
