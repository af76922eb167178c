import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../../base/limits.ts';
import { LOGGED_TRANSPORTS } from '../../feed/ports/query-log.ts';
import { OPERATIONS } from '../../protocol/names/query-name.ts';
import { QUERY_STATUSES, type QueryStatus } from '../../protocol/query/outcome.ts';
import { decodeHandover, encodeHandover, type Handover } from './recorder.ts';
import type { Account, Tag } from './tag.ts';

function answersOf({ totals }: Handover) {
  return totals.map(({ namespaceId, answers }) => ({ namespaceId, answers }));
}

function droppedOf({ totals }: Handover): number {
  return totals.reduce((sum, { dropped }) => sum + dropped, 0);
}

const label = fc
  .stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/)
  .filter((text) => !text.startsWith('auth-'));

test('property: a hand-over decodes to what was encoded', () => {
  const account = fc.record({ namespaceId: fc.uuid(), answers: fc.nat(2 ** 45), dropped: fc.nat(1000) });
  const row = fc.record({
    account: fc.nat(),
    status: fc.nat(QUERY_STATUSES.length - 1),
    operation: fc.nat(OPERATIONS.length - 1),
    qtype: fc.nat(65_535),
    rcode: fc.nat(4095),
    labels: fc.option(fc.tuple(label, label)),
    time: fc.nat(LIMITS.expiresAtMax),
    transport: fc.nat(LOGGED_TRANSPORTS.length - 1),
    duration: fc.nat(LIMITS.queryLogDurationMs),
  });
  fc.assert(
    fc.property(
      fc.array(account, { minLength: 1, maxLength: 5 }),
      fc.array(row, { maxLength: 30 }),
      fc.nat(LIMITS.expiresAtMax),
      (counted, asked, since) => {
        const accounts: Account[] = counted.map((parts) => ({
          ...parts,
          isSomebody: true,
          rows: 0,
          tokenless: 0,
          isListed: true,
          place: 0,
        }));
        const accountAt = (at: number): Account => accounts[at % accounts.length]!;
        const tags = asked.map(
          ({ account, status, operation, qtype, rcode, labels }): Tag => ({
            account: accountAt(account),
            status,
            isMetered: false,
            isTokenless: false,
            operation,
            qtype,
            rcode,
            resource: labels?.[0] ?? '',
            version: labels?.[1] ?? '',
          }),
        );
        const handover = decodeHandover(
          encodeHandover({
            since,
            accounts,
            tags,
            times: Float64Array.from(asked, ({ time }) => time),
            transports: Uint8Array.from(asked, ({ transport }) => transport),
            durations: Uint16Array.from(asked, ({ duration }) => duration),
            rows: asked.length,
          }),
        );
        assert.equal(handover.since, since);
        assert.equal(
          droppedOf(handover),
          counted.reduce((sum, { dropped }) => sum + dropped, 0),
        );
        assert.deepEqual(
          answersOf(handover),
          counted.map(({ namespaceId, answers }) => ({ namespaceId, answers })),
        );
        assert.equal(handover.rows().length, asked.length);
        const expected = asked.map((parts) => ({
          at: parts.time,
          namespaceId: accountAt(parts.account).namespaceId,
          resource: parts.labels?.[0] ?? null,
          version: parts.labels?.[1] ?? null,
          operation: OPERATIONS[parts.operation],
          qtype: parts.qtype,
          status: QUERY_STATUSES[parts.status] as QueryStatus,
          rcode: parts.rcode,
          transport: LOGGED_TRANSPORTS[parts.transport],
          durationMs: parts.duration,
        }));
        assert.deepEqual(handover.rows(), expected);
        assert.deepEqual(handover.rows(), expected, 'twice the same');
      },
    ),
  );
});
