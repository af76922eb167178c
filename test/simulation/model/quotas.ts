import { LIMITS, TIERS } from '../../../src/base/limits.ts';
import type { Counts } from './counts.ts';
import type { Model, Pending } from './model.ts';
import type { RestCheck } from './rest-reads.ts';
import { ModelError } from './told.ts';

export interface Quotas {
  readonly records: number;
  readonly namespaces: number;
}

/** Of every customer of the world, as this process has them: half of the processes have small ones. */
export const QUOTAS: Quotas = {
  records: TIERS.team.records,
  namespaces: LIMITS.namespacesPerCustomer,
};

const MESSAGES = {
  records: 'Record limit of the account reached',
  namespaces: 'Namespace limit of the account reached',
} as const;

/** No account ever has more than its limit, whoever writes at the same time; and nothing is refused for a limit that is not reached. */
export function createQuotasCheck(model: Model, counts: Counts, quotas: Quotas): RestCheck {
  return {
    answered(pending, { status, body }) {
      const { account, method, path } = pending.request;
      const said = `${account} ${method} ${path} is answered ${status}`;
      for (const kind of ['records', 'namespaces'] as const) {
        const limit = quotas[kind];
        const used = method === 'GET' && path === '/usage' && status === 200 ? body[kind].used : 0;
        if (used > limit) throw new ModelError(`${said}: ${used} ${kind} of ${limit}`);
        const least = status < 300 && method === 'POST' ? counts[kind](account, model.now())?.least : 0;
        if (least !== undefined && least > limit)
          throw new ModelError(`${said}: ${least} ${kind} are more than ${limit}`);
        if (status !== 422 || !JSON.stringify(body).includes(MESSAGES[kind])) continue;
        const most = counts[kind](account, pending.since)?.most ?? limit;
        if (most + added(pending) <= limit)
          throw new ModelError(`${said}: the limit of ${kind} is not reached, there are ${most} of ${limit}`);
      }
    },
  };
}

/** What the request would have made at most. */
function added({ request: { path, body } }: Pending): number {
  return path === '/records/bulk' ? body.records.length : 1;
}
