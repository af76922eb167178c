import { namespacesOf } from './access.ts';
import type { Model, Pending } from './model.ts';
import type { Register } from './register.ts';
import type { RestCheck } from './rest-reads.ts';
import { ModelError } from './told.ts';

const MESSAGE = 'Namespace is suspended';

/**
 * While the operator has suspended a namespace nothing is written in it, and no token of it is minted; it can be read, and its tokens can be
 * revoked. Nothing else is refused for it.
 */
export function createSuspensionCheck(model: Model): RestCheck {
  const { state } = model;

  /** Whether any namespace that has this name meanwhile may be suspended, or is for certain. */
  function suspensionOf(name: string, from: number): { readonly may: boolean; readonly must: boolean } {
    const ids = state.name(name).possible(from, model.now());
    const values = ids.flatMap(({ value: id }) => {
      const namespace = id === null ? undefined : state.namespaces.get(id);
      // One of which the answer was lost, or none: nobody can say.
      if (namespace === undefined) return [false];
      return namespace.isSuspended.possible(from, model.now()).map(({ value }) => value);
    });
    return { may: values.includes(true), must: !values.includes(false) };
  }

  /** Nobody gets rid of a suspended namespace by deleting the account. */
  function checkLeaving({ request: { account }, from }: Pending, status: number): void {
    const own = [...state.namespaces.values()].filter((space) => space.account === account);
    const values = <V>(register: Register<V>, to = model.now()): readonly V[] =>
      register.possible(from - 1, to).map(({ value }) => value);
    const must = own.find(
      ({ id, name, isClosed, isSuspended }) =>
        values(isSuspended).every(Boolean) &&
        // Before this request, which closes it.
        !values(isClosed, from - 1).some(Boolean) &&
        values(state.name(name), from - 1).every((each) => each === id),
    );
    if (status === 204 && must !== undefined)
      throw new ModelError(`${account} is deleted, and its namespace ${must.name} is suspended`);
    if (status === 403 && !own.some(({ isSuspended }) => values(isSuspended).some(Boolean)))
      throw new ModelError(`${account} may not be deleted, and none of its namespaces is suspended`);
  }

  return {
    answered(pending, { status, body }) {
      const { account, method, path } = pending.request;
      if (method === 'DELETE' && path === '/me') return checkLeaving(pending, status);
      const isRefused = status === 403 && JSON.stringify(body).includes(MESSAGE);
      const isDone = status >= 200 && status < 300 && isWrite(pending);
      if (!isRefused && !isDone) return;
      // An answer that was stored is of the time of the first request.
      const names = namespacesOf(state, pending).map((name) => ({
        name,
        ...suspensionOf(name, pending.since),
      }));
      const said = `${account} ${method} ${path} is answered ${status}`;
      const suspended = names.find(({ must }) => must);
      if (isDone && suspended !== undefined) throw new ModelError(`${said}: ${suspended.name} is suspended`);
      if (isRefused && (!isWrite(pending) || !names.some(({ may }) => may)))
        throw new ModelError(`${said}: ${names.map(({ name }) => name).join()} is not suspended`);
    },
  };
}

function isWrite({ request: { method, path } }: Pending): boolean {
  const isRevocation = method === 'DELETE' && path.includes('/query_tokens/');
  return method !== 'GET' && method !== 'OPERATOR' && !isRevocation && /^\/(records|namespaces\/)/.test(path);
}
