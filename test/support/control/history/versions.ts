import assert from 'node:assert/strict';
import type { Store } from '../../../../src/store/store.ts';
import { pruneVersions } from '../../../../src/store/version-retention.ts';
import type { Caller, Customer, Json } from '../../http/world.ts';

const KEEP = { versions: 20, days: 90 };

export const text = (value: string): string => Buffer.from(value).toString('base64');

/** Switches the history of a namespace. @returns the namespace */
export async function keep(customer: Caller, id: string, history: unknown = KEEP): Promise<Json> {
  const answer = await customer.patch(`/namespaces/${id}`, { namespace: { history } });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

/** A new namespace with history. */
export async function keepingNamespace(
  customer: Customer,
  history: unknown = KEEP,
): Promise<{ id: string; name: string }> {
  const { id, name } = await customer.namespace();
  await keep(customer, id, history);
  return { id, name };
}

/** Versions as `number cause`, newest first. */
export async function listed(customer: Caller, path: string): Promise<string[]> {
  const answer = await customer.get(path);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.versions.map((one: Json) => `${one.version} ${one.cause}`);
}

/** What upkeep does with versions, at once. */
export const prune = (store: Store, now: number): Promise<boolean> =>
  pruneVersions(store, now, new AbortController().signal);

export const usedVersions = async (customer: Customer): Promise<number> =>
  (await customer.get('/usage')).json.versions.used;
