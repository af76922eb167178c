import type { Model } from './model.ts';
import type { RestCheck } from './rest-reads.ts';
import { ModelError, type RestAnswer } from './told.ts';

/** Private answers of one account. */
export interface Answers {
  readonly byName: ReadonlyMap<string, number>;
  /** Those of namespaces that it has deleted too. */
  readonly total: number;
}

/** What `GET /usage` says was read. */
export function answersShown(body: RestAnswer['body']): Answers {
  const { by_namespace: spaces, total_authenticated_queries: total } = body.metered;
  return { byName: new Map(spaces.map(({ name, count }: Shown) => [name, count])), total };
}

interface Shown {
  readonly name: string;
  readonly count: number;
}

/**
 * No account is told of more private reads than nodes have answered.
 * @param given answers of all nodes, by id of the namespace
 */
export function createUsageCheck(model: Model, given: () => ReadonlyMap<string, number>): RestCheck {
  const { state } = model;
  return {
    answered({ request: { account, credential, method, path } }, { status, body }) {
      if (method !== 'GET' || path !== '/usage' || status !== 200 || credential !== 'session') return;
      const { byName, total } = answersShown(body);
      const most = { byName: new Map<string, number>(), total: 0 };
      for (const [id, answers] of given()) {
        const space = state.namespaces.get(id);
        // One of which the answer was lost has an id that nobody knows.
        if (space !== undefined && space.account !== account) continue;
        most.total += answers;
        for (const name of space === undefined ? byName.keys() : [space.name])
          most.byName.set(name, (most.byName.get(name) ?? 0) + answers);
      }
      const wrong = [...byName].find(([name, count]) => count > (most.byName.get(name) ?? 0));
      if (wrong !== undefined) throw fault(account, wrong[0], wrong[1], most.byName.get(wrong[0]) ?? 0);
      if (total > most.total) throw fault(account, 'all', total, most.total);
    },
  };
}

/** With no answer on its way: what an account is told is what the database had before the question, or after it. */
export function checkShown(account: string, shown: Answers, before: Answers, after: Answers): void {
  for (const name of new Set([...shown.byName.keys(), ...before.byName.keys()])) {
    const count = shown.byName.get(name) ?? 0;
    const [least, most] = [before, after].map(({ byName }) => byName.get(name) ?? 0);
    if (count < least! || count > most!) throw fault(account, name, count, most!);
  }
  if (shown.total < before.total || shown.total > after.total)
    throw fault(account, 'all', shown.total, after.total);
}

const fault = (account: string, what: string, count: number, most: number): ModelError =>
  new ModelError(`usage of ${account}: ${count} answers of ${what} are shown, and there were ${most}`);
