import type { FastifyInstance } from 'fastify';
import { AppError, malformed } from '../../../core/errors.ts';

export interface Refusal {
  readonly error: AppError;
  /** The `Allow` header of a 405. */
  readonly allow: string | null;
}

/** The paths that exist and the methods of each, kept as routes are added. */
export interface RouteTable {
  /** What is wrong with a request that matched no route: 405 where the path exists, else 404. */
  refusal(url: string): Refusal;
  /**
   * Judges a request that matched a route with parameters, such as `GET /records/bulk` matches `/records/:id`.
   *
   * @param template the matched route
   * @returns 405 when the path is that of another route, one without parameters; else null
   */
  shadowed(url: string, template: string): Refusal | null;
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
      const at = pathOf(url);
      const exact = paths.get(at);
      if (exact !== undefined) return notAllowed(exact.methods);
      const matching = [...paths.values()].filter(({ pattern }) => pattern.test(at));
      if (matching.length === 0) return { error: new AppError('not_found', 'Route not found'), allow: null };
      return notAllowed(new Set(matching.flatMap((it) => [...it.methods])));
    },
    shadowed(url, template) {
      if (!template.includes(':')) return null;
      const exact = paths.get(pathOf(url));
      return exact === undefined ? null : notAllowed(exact.methods);
    },
  };
}

function pathOf(url: string): string {
  return url.split('?', 1)[0]!;
}

function notAllowed(methods: ReadonlySet<string>): Refusal {
  return { error: malformed(405, 'Method is not allowed here'), allow: [...methods].sort().join(', ') };
}

/** A parameter stands for one segment that is not empty. */
function patternOf(template: string): RegExp {
  const source = template
    .split('/')
    .map((segment) => (segment.startsWith(':') ? '[^/]+' : segment.replace(/[^\w-]/g, '\\$&')))
    .join('/');
  return new RegExp(`^${source}$`);
}
