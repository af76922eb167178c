import type { FastifyInstance } from 'fastify';
import type { DescribedRoute } from './document.ts';

/**
 * The routes that are registered from here on. A HEAD is part of its GET.
 * @throws Error from the registration of a route without a description, which ends the start
 */
export function collectRoutes(api: FastifyInstance): readonly DescribedRoute[] {
  const routes: DescribedRoute[] = [];
  api.addHook('onRoute', ({ method: methods, routePath: path, config }) => {
    for (const method of [methods].flat()) {
      if (method === 'HEAD') continue;
      if (config?.operation === undefined) {
        throw new Error(`the route ${method} ${path} has no description: see openapi/operation.ts`);
      }
      routes.push({ method, path, operation: config.operation });
    }
  });
  return routes;
}
