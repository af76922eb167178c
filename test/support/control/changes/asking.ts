import assert from 'node:assert/strict';
import type { Answer, Caller, Json } from '../../http/world.ts';

/** Where a write stands in the feed. */
export const seqOf = ({ headers }: Answer): string => String(headers['x-service-seq']);

/** A page of changes. */
export async function askChanges(caller: Caller, query = ''): Promise<Json> {
  const { status, json, text } = await caller.get(`/changes${query}`);
  assert.equal(status, 200, text);
  return json;
}

/** What was told, without cursors and times. */
export const told = (changes: readonly Json[]): unknown[] =>
  changes.map(({ event, namespace, key, etag }) => [event, key ?? namespace, ...(etag ? [etag] : [])]);

export async function presentEnd(caller: Caller): Promise<string> {
  const { changes, next, has_more: hasMore } = await askChanges(caller);
  assert.deepEqual([changes, hasMore], [[], false]);
  return next;
}
