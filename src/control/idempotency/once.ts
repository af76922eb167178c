import { createHash } from 'node:crypto';
import { AppError, invalid } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Store, Tx } from '../../store/store.ts';
import { countAnswers, findAnswer, storeAnswer, takeKey } from '../../store/tables/idempotency-keys.ts';
import type { Actor } from '../accounts/actor.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';

export const ANSWER_KEPT = LIMITS.idempotencyHours * 3_600_000;

/** Answers are encrypted at rest: some contain a secret that is shown once. */
export interface AnswerEncryption {
  encrypt(id: string, text: string): Uint8Array;
  /** @throws when the octets were encrypted for another id, or changed */
  decrypt(id: string, encrypted: Uint8Array): string;
}

export type OnceDeps = HasStore & HasClock & { readonly answers: AnswerEncryption };

export interface RepeatableRequest {
  readonly actor: Actor;
  readonly key: string;
  /** Method, path and body: a key belongs to one request. */
  readonly content: string;
}

interface StoredAnswer {
  /** Hex SHA-256 of `content`. */
  readonly request: string;
  readonly result: unknown;
}

/** Rolls back a unit of work when another request has taken its key. `once` catches it. */
class Repeated extends Error {}

/**
 * Runs a use case once for a key. Its unit of work also stores its result: a crash leaves both or none. A second request
 * waits for the result of the first. A failure leaves the key free.
 * @param run writes through the store that it gets, in one unit of work, and returns the value of that unit
 * @throws AppError 422 when the key was used for another request, or the customer has too many keys; errors of `run`
 */
export async function once<T>(
  deps: OnceDeps,
  { actor, key, content }: RepeatableRequest,
  run: (store: Store) => Promise<T>,
): Promise<T> {
  const id = sha256(JSON.stringify([actor.customerId, scopeOf(actor), key]));
  const request = sha256(content);
  const now = deps.clock();
  const before = now - ANSWER_KEPT;
  const known = await findAnswer(deps.store.read, id, before);
  if (known !== null) return resultOf<T>(deps.answers, id, request, known);
  const store: Store = {
    ...deps.store,
    write: <U>(work: (tx: Tx) => Promise<U>): Promise<U> =>
      deps.store.write(async (tx) => {
        const row = { id, customer_id: actor.customerId, created_at: now };
        if (!(await takeKey(tx, row, before))) throw new Repeated();
        const result = await work(tx);
        const answer: StoredAnswer = { request, result };
        await storeAnswer(tx, id, deps.answers.encrypt(id, JSON.stringify(answer)));
        await requireRoom(tx, actor);
        return result;
      }),
  };
  try {
    return await run(store);
  } catch (error) {
    if (!(error instanceof Repeated)) throw error;
  }
  // A unit of work starts after the unit that took the key has committed.
  const other = await deps.store.write((tx) => findAnswer(tx, id, before));
  if (other === null) throw new Error('an idempotency key was taken and has no answer');
  return resultOf<T>(deps.answers, id, request, other);
}

/** @throws AppError 422 when the answer belongs to another request */
function resultOf<T>(answers: AnswerEncryption, id: string, request: string, encrypted: Uint8Array): T {
  const answer = JSON.parse(answers.decrypt(id, encrypted)) as StoredAnswer;
  if (answer.request !== request) throw invalid('Idempotency-Key was used with another request');
  return answer.result as T;
}

async function requireRoom(tx: Tx, { customerId }: Actor): Promise<void> {
  const { keys, octets } = await countAnswers(tx, customerId);
  if (keys > LIMITS.idempotencyKeys || octets > LIMITS.idempotencyOctets) {
    throw new AppError('quota_exceeded', 'Idempotency-Key limit of the account reached');
  }
}

/** A stored answer is returned only to a credential with the same scopes, and in an organization to the same user. */
function scopeOf({ via, customerId, userId, operations, namespaces }: Actor): unknown {
  const scope = [via, [...operations].sort(), namespaces === null ? null : [...namespaces].sort()];
  return userId === null || userId === customerId ? scope : [...scope, userId];
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
