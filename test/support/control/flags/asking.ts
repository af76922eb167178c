import assert from 'node:assert/strict';
import type { Answer, Json, World } from '../../http/world.ts';

export const COUNTRY = {
  version: 1,
  variants: { on: true, off: false },
  defaultVariant: 'off',
  targeting: [{ when: [{ attribute: 'country', op: 'equals', value: 'de' }], variant: 'on' }],
};

/** A flag with one variant. */
export function plainFlag(value: unknown): object {
  return { version: 1, variants: { v: value }, defaultVariant: 'v' };
}

export function base64(document: unknown): string {
  return Buffer.from(typeof document === 'string' ? document : JSON.stringify(document)).toString('base64');
}

/** A customer with a namespace of flags and a query token of it. */
export async function flagShop(world: World, documents: Readonly<Record<string, unknown>> = {}) {
  const owner = await world.customer();
  const { id, name } = await owner.namespace();
  const records = new Map<string, Json>();
  for (const [key, document] of Object.entries(documents)) {
    records.set(key, await owner.record(`${key}.flags.${name}.v1`, { data: base64(document) }));
  }
  const minted = await owner.post(`/namespaces/${id}/query_tokens`, { name: 'web' });
  assert.equal(minted.status, 201, minted.text);
  const { token, id: tokenId } = minted.json;
  return {
    owner,
    id,
    name,
    records,
    token: String(token),
    tokenId: String(tokenId),
    change: async (key: string, document: unknown): Promise<void> => {
      const { status, text } = await owner.patch(`/records/${records.get(key).id}`, {
        record: { data: base64(document) },
      });
      assert.equal(status, 200, text);
    },
  };
}

/** Asks for an evaluation. */
export function askFlags(
  world: World,
  token: string | null,
  path: string,
  body: unknown = { context: {} },
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const credential = token === null ? {} : { authorization: `Bearer ${token}` };
  const content = { 'content-type': 'application/json', ...credential, ...headers };
  const payload = typeof body === 'string' ? body : JSON.stringify(body);
  return world.inject({ method: 'POST', url: path, headers: content, payload });
}

export const ALL_FLAGS = '/ofrep/v1/evaluate/flags';
export const oneFlag = (key: string): string => `${ALL_FLAGS}/${key}`;
