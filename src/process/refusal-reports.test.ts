import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { FEED_REFUSALS } from '../feed/ports/refusal.ts';
import type { Log } from '../ops/telemetry/log.ts';
import { createMetrics } from '../ops/telemetry/metrics.ts';
import { FEED_MENDS } from '../ops/telemetry/vocabulary.ts';
import { reportRefusals } from './refusal-reports.ts';

describe('messages of the feed that are refused', () => {
  it('are all counted, and told with what to do: the first of each reason, then ever fewer', async () => {
    const metrics = createMetrics({ edgeStats: null, feedLag: () => null, process: false });
    const told: { reason: string; mend: string }[] = [];
    const log: Log = {
      event: (name, fields) => {
        assert.equal(name, 'feed.refused');
        told.push(fields as unknown as (typeof told)[0]);
      },
    };
    const refused = reportRefusals(log, metrics.feed, () => 0);
    for (let i = 0; i < 3; i++) for (const reason of FEED_REFUSALS) refused(reason);
    assert.deepEqual(
      told.map(({ reason }) => reason),
      FEED_REFUSALS,
    );
    for (const { mend } of told) assert.ok((FEED_MENDS as readonly string[]).includes(mend));
    const mends = new Map(told.map(({ reason, mend }) => [reason, mend]));
    assert.match(mends.get('version')!, /upgrade this node/);
    assert.match(mends.get('epoch')!, /database of control was exchanged/);
    assert.match(mends.get('key')!, /keys of the hour/);
    assert.match(mends.get('clock')!, /clocks/);
    assert.match(mends.get('replayed')!, /no two machines use one credentials file/);
    const text = await metrics.text();
    assert.match(mends.get('signature')!, /forged/);
    for (const reason of FEED_REFUSALS) {
      assert.ok(text.includes(`uqrp_feed_refused_total{reason="${reason}"} 3`), reason);
    }
  });

  it('are no attack when an upgrade, a restore or a broker that lost parts explains them', () => {
    const mends: string[] = [];
    const metrics = createMetrics({ edgeStats: null, feedLag: () => null, process: false });
    const log: Log = {
      event: (_, fields) => {
        mends.push((fields as unknown as { mend: string }).mend);
      },
    };
    const refused = reportRefusals(log, metrics.feed, () => 0);
    for (const reason of ['unfit', 'position', 'missing', 'content'] as const) refused(reason);
    assert.equal(mends.length, 4);
    for (const mend of mends) {
      assert.match(mend, /this node reads pages from control/);
      assert.doesNotMatch(mend, /forged|who can write/);
    }
  });

  it('have a row each in docs/operations/events.md', () => {
    const page = readFileSync(new URL('../../docs/operations/events.md', import.meta.url), 'utf8');
    const section = page.split('### Messages that are refused')[1]?.split('\n### ')[0] ?? '';
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    const listed = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([a-z]+)`/g)].map(([, name]) => name),
    );
    assert.deepEqual(new Set(listed), new Set(FEED_REFUSALS));
  });
});
