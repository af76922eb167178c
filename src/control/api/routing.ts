import type { FastifyInstance } from 'fastify';
import { AppError, malformed } from '../../core/errors.ts';

/** The paths that exist and the methods of each, kept as routes are added. */
export interface RouteTable {
  /** What is wrong with a request that matched no route: 405 where the path exists, else 404. */
  refusal(url: string): { readonly error: AppError; readonly allow: string | null };
}

/** Notes every route that is added to `app` from here on. */
export function routeTable(app: FastifyInstance): RouteTable {
  const paths = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const path = paths.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    for (const one of [method].flat()) path.methods.add(one);
    paths.set(url, path);
  });
  return {
    refusal(url) {
      const at = url.split('?', 1)[0]!;
      const methods = [...paths.values()]
        .filter(({ pattern }) => pattern.test(at))
        .flatMap((it) => [...it.methods]);
      if (methods.length === 0) return { error: new AppError('not_found', 'Route not found'), allow: null };
      const allow = [...new Set(methods)].sort().join(', ');
      return { error: malformed(405, 'Method is not allowed here'), allow };
    },
  };
}

/** A parameter stands for one segment that is not empty. */
function patternOf(template: string): RegExp {
  const source = template
    .split('/')
    .map((segment) => (segment.startsWith(':') ? '[^/]+' : segment.replace(/[^\w-]/g, '\\$&')))
    .join('/');
  return new RegExp(`^${source}$`);
}
