import type { Model, Pending } from './model.ts';
import type { RestCheck } from './rest-reads.ts';
import { namespaceOf, type State } from './state.ts';
import { ModelError } from './told.ts';

interface ApiKey {
  /** Empty: both. */
  readonly operations: readonly string[];
  /** Empty: all. */
  readonly namespaces: readonly string[];
  /** The event by which its end was answered. */
  revokedBy: number | null;
}

export interface AccessCheck extends RestCheck {
  /** A backup of that event was put back: keys that were revoked are back too, as far as anybody knows, and accounts that were deleted since. */
  restored(backup: number): void;
}

/**
 * No API key does what it may not: nothing after its revocation, or after the end of its account, no writes without `write`, nothing outside of its namespaces. That holds for
 * repeats under an idempotency key too.
 */
export function createAccessCheck(model: Model): AccessCheck {
  const { state } = model;
  const keys = new Map<string, ApiKey>();
  /** The event by which its end was answered, by account. */
  const left = new Map<string, number>();

  return {
    restored(backup) {
      for (const [account, at] of left) if (at > backup) left.delete(account);
      for (const key of keys.values()) key.revokedBy = null;
    },
    answered(pending, { status, body }) {
      const { method, path, credential, account } = pending.request;
      const isGone = (left.get(account) ?? Number.POSITIVE_INFINITY) < pending.from;
      if (isGone && status !== 401 && status < 500)
        throw new ModelError(`${account}: ${method} ${path} is answered ${status}: the account was deleted`);
      if (status < 200 || status >= 300) return;
      if (method === 'DELETE' && path === '/me') left.set(account, model.now());
      if (method === 'POST' && path === '/api_keys') {
        const { operations, namespaces } = body.scopes;
        keys.set(body.id, { operations, namespaces, revokedBy: null });
      }
      const [, revoked] = method === 'DELETE' ? (/^\/api_keys\/([^/]+)$/.exec(path) ?? []) : [];
      const ended = keys.get(revoked ?? '');
      if (ended !== undefined) ended.revokedBy ??= model.now();
      const key = keys.get(credential.replace(/^key /, ''));
      if (key === undefined) return;
      const fail = (reason: string): never => {
        throw new ModelError(`${credential}: ${method} ${path} is answered ${status}: ${reason}`);
      };
      if (key.revokedBy !== null && key.revokedBy < pending.from) fail('the key was revoked');
      const operation = method === 'GET' ? 'read' : 'write';
      if (key.operations.length > 0 && !key.operations.includes(operation))
        fail(`the key may not ${operation}`);
      const outside = namespacesOf(state, pending).find((name) => !key.namespaces.includes(name));
      if (key.namespaces.length > 0 && outside !== undefined) fail(`the key does not reach ${outside}`);
      if (operation === 'write' && body?.data !== undefined && !mayRead(key))
        fail('data for a key that may not read');
    },
  };
}

const mayRead = ({ operations }: ApiKey): boolean => operations.length === 0 || operations.includes('read');

/** Names of the namespaces that a request reads or writes, as far as it names them. */
export function namespacesOf(state: State, { request: { path, body } }: Pending): readonly string[] {
  const [, collection, id] = /^\/(\w+)\/([^/?]+)/.exec(path) ?? [];
  if (collection === 'namespaces') return [state.namespaces.get(id!)?.name ?? []].flat();
  const key = state.keys.get(id ?? '');
  const record = body?.record?.key as string | undefined;
  const bulk = ((body?.records ?? []) as { readonly key: string }[]).map((item) => item.key);
  return [key ?? [], record ?? [], bulk, body?.delete ?? []].flat().map(namespaceOf);
}
