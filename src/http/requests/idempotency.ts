import type { FastifyRequest } from 'fastify';
import { malformed } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { type OnceDeps, once } from '../../control/idempotency/once.ts';
import { actorOf } from './guard.ts';

const KEY = new RegExp(`^[ -~]{1,${LIMITS.idempotencyKey}}$`);

/** Runs the use case of a POST, once for each `Idempotency-Key`. @throws AppError 400 for an invalid key; see `once` */
export async function runOnce<D extends OnceDeps, T>(
  deps: D,
  request: FastifyRequest,
  run: (deps: D) => Promise<T>,
): Promise<T> {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return run(deps);
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw malformed(
      400,
      `Idempotency-Key must have 1 to ${LIMITS.idempotencyKey} printable ASCII characters`,
    );
  }
  const content = JSON.stringify([request.url, request.headers['if-none-match'], request.bodyDigest]);
  return once(deps, { actor: actorOf(request), key, content }, (store) => run({ ...deps, store }));
}
