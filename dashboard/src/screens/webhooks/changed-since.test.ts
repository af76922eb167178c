import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RecordResource, WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { CHANGED_MAX, changedSince, missedSince } from './changed-since.ts';

const SINCE = '2026-11-22T12:00:00.000Z';

function record(key: string, updated_at: string, namespace = 'acme'): RecordResource {
  return { key, updated_at, namespace } as RecordResource;
}

async function* listing(all: readonly RecordResource[]): AsyncGenerator<RecordResource> {
  yield* all;
}

function webhook(health: Partial<WebhookResource['health']>): WebhookResource {
  return { health: { failing_since: null, disabled_at: null, ...health } } as WebhookResource;
}

describe('what a webhook may have missed', () => {
  it('is what changed since an hour before it began to fail, or was disabled', () => {
    const [fails, off] = ['2026-11-22T11:00:00.000Z', SINCE];
    const [beforeFails, beforeOff] = ['2026-11-22T10:00:00.000Z', '2026-11-22T11:00:00.000Z'];
    assert.equal(missedSince(webhook({ state: 'failing', failing_since: fails })), beforeFails);
    const both = webhook({ state: 'disabled', failing_since: fails, disabled_at: off });
    assert.equal(missedSince(both), beforeFails);
    assert.equal(missedSince(webhook({ state: 'disabled', disabled_at: off })), beforeOff);
    for (const state of ['healthy', 'unproven'] as const) assert.equal(missedSince(webhook({ state })), null);
  });

  it('ends at the first record from before, and leaves out other namespaces', async () => {
    const all = [
      record('c', '2026-11-22T12:00:02.000Z'),
      record('x', '2026-11-22T12:00:01.000Z', 'other'),
      record('b', SINCE),
      record('a', '2026-11-22T11:59:59.999Z'),
    ];
    const keys = async (namespaces: readonly string[]) =>
      (await changedSince(listing(all), SINCE, namespaces)).records.map(({ key }) => key);
    assert.deepEqual(await keys(['acme']), ['c', 'b']);
    assert.deepEqual(await keys([]), ['c', 'x', 'b']);
  });

  it('is bounded, and says when there is more', async () => {
    const many = Array.from({ length: CHANGED_MAX + 1 }, (_, at) => record(String(at), SINCE));
    const { records, isCut } = await changedSince(listing(many), SINCE, []);
    assert.deepEqual([records.length, isCut], [CHANGED_MAX, true]);
    assert.equal((await changedSince(listing(many.slice(1)), SINCE, [])).isCut, false);
  });
});
