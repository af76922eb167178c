import type { FastifyInstance } from 'fastify';
import { AppError, malformed } from '../../base/errors.ts';

export interface Refusal {
  readonly error: AppError;
  /** The `Allow` header of a 405. */
  readonly allow: string | null;
}

/** What the router knows of a path: which methods reach it, and whether by a route without parameters. */
interface Match {
  readonly method: string;
  readonly isExact: boolean;
}

/** A request that matched no route: 405 where the path exists, else 404. */
export function refusalOf(app: FastifyInstance, url: string): Refusal {
  const matches = matchesOf(app, url);
  if (matches.length === 0) return { error: new AppError('not_found', 'Route not found'), allow: null };
  const exact = matches.filter(({ isExact }) => isExact);
  return notAllowed(exact.length > 0 ? exact : matches);
}

/**
 * A request that matched a route with parameters although its path is that of a route without, under another method:
 * `GET /records/bulk` matches `/records/:id`.
 * @param template the matched route
 * @returns 405, or null when there is no such route
 */
export function shadowedBy(app: FastifyInstance, url: string, template: string): Refusal | null {
  if (!template.includes(':')) return null;
  const exact = matchesOf(app, url).filter(({ isExact }) => isExact);
  return exact.length === 0 ? null : notAllowed(exact);
}

function matchesOf(app: FastifyInstance, url: string): readonly Match[] {
  const path = url.split('?', 1)[0]!;
  return app.supportedMethods.flatMap((method) => {
    const found = app.findRoute({ url: path, method });
    return found === null ? [] : [{ method, isExact: Object.keys(found.params).length === 0 }];
  });
}

function notAllowed(matches: readonly Match[]): Refusal {
  const allow = matches.map(({ method }) => method).sort();
  return { error: malformed(405, 'Method is not allowed here'), allow: allow.join(', ') };
}
