import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiDeps } from '../deps.ts';

type LinkDeps = Pick<ApiDeps, 'publicUrl'>;

/** Sends 201 and the URL of the new resource, where GET of it answers: the collection's URL and the id. */
export function created(
  deps: LinkDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  resource: { readonly id: string },
): FastifyReply {
  return reply
    .code(201)
    .header('location', `${here(deps, request)}/${resource.id}`)
    .send(resource);
}

/** The `Link` header to the next page (RFC 8288). */
export function nextLink(
  deps: LinkDeps,
  request: FastifyRequest,
  parameters: Readonly<Record<string, string>>,
): string {
  return `<${here(deps, request)}?${new URLSearchParams(parameters).toString()}>; rel="next"`;
}

/** The request's URL as clients see it, without the query string. */
function here({ publicUrl }: LinkDeps, request: FastifyRequest): string {
  return publicUrl() + request.url.split('?', 1)[0]!;
}
