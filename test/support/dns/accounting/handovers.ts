import assert from 'node:assert/strict';
import { createRecorder } from '../../../../src/dns/accounting/recorder.ts';
import { parseQueryName } from '../../../../src/protocol/names/query-name.ts';

export const START = Date.UTC(2026, 0, 1);
const parsed = parseQueryName('get.temp.acme.v1');
assert.ok(parsed.kind === 'query');
export const { query } = parsed;

/** A hand-over as a worker makes it: so many answers, each with a row. */
export function handoverOf(counts: Readonly<Record<string, number>>, since = START): ArrayBuffer {
  const recorder = createRecorder({ startedAt: since, onQuery() {} });
  for (const [namespaceId, answers] of Object.entries(counts)) {
    const asked = { query, namespaceId, reading: 'private', status: 'hit' } as const;
    const tag = recorder.tagOf(asked, { rcode: 0, isFailure: false }, 16);
    for (let i = 0; i < answers; i++) recorder.record(tag, 'udp', since, 0);
  }
  return recorder.handOver(since + 1000)!;
}
