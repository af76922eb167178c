/**
 * The transparency log over HTTPS, beside `/api/v1`: the paths of C2SP tlog-tiles v0.1.0 below `/log`, and a proof for each version. They need no
 * credential, and every page may read them.
 */
import { gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Budget, Limiter } from '../../http/limiter.ts';
import { acceptsGzip } from '../../http/pages/files.ts';
import { isPublishedVersion, isSlug } from '../../protocol/datasets/query.ts';
import {
  encodeEntries,
  parseTilePath,
  TILE_WIDTH,
  type Tile,
  tileWidth,
} from '../../protocol/transparency/tiles.ts';
import {
  findLogProof,
  lastPublishedCheckpoint,
  readLogEntries,
  readTileHashes,
} from '../../store/transparency.ts';
import type { HasStore } from '../deps.ts';
import { entryName } from './append.ts';

export interface LogRouteDeps extends HasStore {
  /** Counts requests of an address; each process its own, as DNS over HTTPS does. */
  readonly limiter: Limiter;
}

const BUDGET: Budget = 'transparencyLog';
const HEADERS = { 'access-control-allow-origin': '*', 'x-content-type-options': 'nosniff' };
const TEXT = 'text/plain; charset=utf-8';
const OCTETS = 'application/octet-stream';
/** Seconds. What readers know of the head is at most so old; it is cosigned anew within seconds of an entry. */
const HEAD_CACHE = 'public, max-age=5';
const IMMUTABLE = 'public, max-age=31536000, immutable';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Without UQRP_DATASETS_LOG these paths are not there. */
export function logRoutes(app: FastifyInstance, { store, limiter }: LogRouteDeps): void {
  const { read } = store;
  app.register(async (log) => {
    log.addHook('onRequest', async (request, reply) => {
      reply.headers(HEADERS);
      const wait = await limiter.take(BUDGET, request.addressKey());
      if (wait === 0) return undefined;
      return reply
        .header('retry-after', String(wait))
        .code(429)
        .header('cache-control', 'no-store')
        .type(TEXT)
        .send('too many requests\n');
    });

    const checkpoint: Handler = async (_request, reply) => {
      const published = await lastPublishedCheckpoint(read);
      return published === null ? notThere(reply) : sendText(reply, published.note, HEAD_CACHE);
    };

    const tile: Handler = async (request, reply) => {
      const { '*': rest = '' } = request.params as { '*'?: string };
      const asked = parseTilePath(`tile/${rest}`);
      const octets = asked && (await tileOctets(asked));
      if (asked === null || octets === null) return notThere(reply);
      reply.header('cache-control', IMMUTABLE).type(OCTETS);
      // Hashes do not shrink.
      if (asked.level !== 'entries') return reply.send(octets);
      reply.header('vary', 'accept-encoding');
      if (!acceptsGzip(request.headers['accept-encoding'])) return reply.send(octets);
      return reply.header('content-encoding', 'gzip').send(gzipSync(octets));
    };

    async function tileOctets({ level, n, width }: Tile): Promise<Buffer | null> {
      const size = (await lastPublishedCheckpoint(read))?.size ?? 0;
      // A partial tile stays, also where more entries follow.
      if (width > tileWidth(level, n, size)) return null;
      const from = n * TILE_WIDTH;
      if (level !== 'entries') return Buffer.concat(await readTileHashes(read, level, from, from + width));
      const entries = await readLogEntries(read, from, from + width);
      return Buffer.from(encodeEntries(entries.map(({ leaf }) => leaf)));
    }

    const proof: Handler = async (request, reply) => {
      const { slug = '', version = '' } = request.params as { slug?: string; version?: string };
      const isName = isSlug(slug) && isPublishedVersion(version);
      const text = isName ? await findLogProof(read, entryName({ slug, version })) : null;
      return text === null ? notThere(reply) : sendText(reply, text, IMMUTABLE);
    };

    log.get('/log/checkpoint', checkpoint);
    log.get('/log/tile/*', tile);
    log.get('/log/proofs/:slug/:version', proof);
  });
}

function sendText(reply: FastifyReply, text: string, cache: string): FastifyReply {
  return reply.header('cache-control', cache).type(TEXT).send(text);
}

/** Also for what comes later: nobody may remember that it was not there. */
function notThere(reply: FastifyReply): FastifyReply {
  return reply.code(404).header('cache-control', 'no-store').type(TEXT).send('not in the published log\n');
}
