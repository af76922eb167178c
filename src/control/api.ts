import type { FastifyInstance } from 'fastify';
import { createTurns } from '../base/lifecycle/turns.ts';
import { LIMITS } from '../base/limits.ts';
import type { Credentials } from '../http/guard.ts';
import { createServer, type HttpDeps } from '../http/server.ts';
import { accountRoutes, signInRoutes } from './accounts/api.ts';
import type { ApiDeps } from './api-deps.ts';
import { auditRoutes, noteRefusal } from './audit/api.ts';
import { openRefusals } from './audit/refusals.ts';
import { changeRoutes, openChangeReader } from './changes/api.ts';
import { datasetRoutes } from './datasets/api.ts';
import { flagRoutes } from './flags/api.ts';
import { historyRoutes } from './history/api.ts';
import { apiKeyRoutes } from './keys/api.ts';
import { openApiKeys } from './keys/rules.ts';
import { openWaits } from './live/waits.ts';
import { namespaceRoutes, queryTokenRoutes } from './namespaces/api.ts';
import { organizationRoutes } from './organizations/api.ts';
import { passkeyRoutes } from './passkeys/api.ts';
import { queryLogRoutes } from './query-log/api.ts';
import { recordRoutes } from './records/api.ts';
import { serviceRoutes } from './service.ts';
import { logRoutes } from './transparency/api.ts';
import { usageRoutes } from './usage/api.ts';
import { webhookRoutes } from './webhooks/api.ts';

const RESOURCES = [
  recordRoutes,
  historyRoutes,
  namespaceRoutes,
  queryTokenRoutes,
  apiKeyRoutes,
  webhookRoutes,
  changeRoutes,
  usageRoutes,
  queryLogRoutes,
  auditRoutes,
  passkeyRoutes,
  accountRoutes,
  signInRoutes,
];

/** The REST API of the product. See `createServer`. */
export function createApi(deps: ApiDeps): FastifyInstance {
  const onError = deps.onError ?? ((): void => {});
  const refusals = openRefusals(deps, onError);
  const apiKeys = openApiKeys(deps, onError);
  const changeReader = openChangeReader(deps, onError);
  const onRefused: HttpDeps['onRefused'] = (request, actor) => noteRefusal(refusals, request, actor);
  const credentials = credentialsOf(deps, apiKeys);
  const app = createServer({ ...deps, credentials, onRefused }, (api, routes) => {
    api.addHook('onClose', () => refusals.settle());
    const { countReads: atOnce, countReadsWaiting: waiting } = LIMITS;
    const countTurns = createTurns({ atOnce, waiting, random: deps.random });
    const all = { ...deps, refusals, changeReader, countTurns, waits: openWaits(api, deps) };
    for (const routesOf of RESOURCES) routesOf(api, all);
    if (deps.organizations) organizationRoutes(api, deps);
    if (deps.service.features.datasets) datasetRoutes(api, deps);
    serviceRoutes(api, deps, routes);
  });
  if (deps.transparencyLog) logRoutes(app, { store: deps.store, ...deps.transparencyLog });
  flagRoutes(app, { ...deps, changeReader, apiKey: (digest) => apiKeys.withDigest(digest) });
  return app;
}

function credentialsOf(
  { sessions, organizations }: ApiDeps,
  apiKeys: ReturnType<typeof openApiKeys>,
): Credentials {
  return {
    apiKey: (token) => apiKeys.authenticate(token),
    async session(token) {
      const actor = await sessions.authenticate(token);
      // Without organizations, a session that acts for one does not count: it could not leave it. A user's own customer has the user's id.
      return organizations || actor?.customerId === actor?.userId ? actor : null;
    },
    async settle() {
      await Promise.all([apiKeys.settle(), sessions.settle()]);
    },
  };
}
