/** What a request adds to the unit of work of its use case: its idempotency key, and its place in the feed. */
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, invalid, malformed } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { SecretEncryption } from '../base/seal.ts';
import type { Actor } from '../http/actor.ts';
import { actorOf } from '../http/guard.ts';
import { marksOf, NO_MARKS } from '../store/engine/signals.ts';
import { countAnswers, findAnswer, forgetAnswers, storeAnswer, takeKey } from '../store/idempotency-keys.ts';
import type { Tx } from '../store/store.ts';
import { writeAs } from './accounts/membership.ts';
import type { HasClock, HasStore, RunUnit } from './deps.ts';

const ANSWER_KEPT = LIMITS.idempotencyHours * 3_600_000;
const KEY = new RegExp(`^[ -~]{1,${LIMITS.idempotencyKey}}$`);

/** A place in the change log, as its customer carries it: the value of `X-Service-Seq`, and a cursor of `GET /changes`. */
export interface Position {
  /** Of the last change before the place. */
  readonly seq: number;
  /** When the write began, milliseconds since the epoch; of a cursor, the time of its change. */
  readonly at: number;
  /** `epochTag` of the log; empty in positions of 0.2.0 and before. */
  readonly epoch: string;
}

/** Letters of the longest position, and more than any has. */
const TEXT_MAX = 128;

/** Eight letters that tell one epoch of a log from another: after a restored backup the same `seq` is another change. */
export function epochTag(epoch: string): string {
  if (epoch !== tagged.epoch) {
    tagged = { epoch, tag: createHash('sha256').update(epoch).digest('base64url').slice(0, 8) };
  }
  return tagged.tag;
}

/** Every write asks for the tag of the one epoch. */
let tagged = { epoch: '', tag: '' };

export function openPositions(encryption: SecretEncryption) {
  return {
    /** Different at each call: numbers of changes would tell how much other customers write between two writes. */
    text(customerId: string, { seq, at, epoch }: Position): string {
      return Buffer.from(encryption.encrypt(customerId, `${seq} ${at} ${epoch}`)).toString('base64url');
    },
    /** Null: it is not a position of this customer. */
    read(customerId: string, text: string): Position | null {
      if (text.length > TEXT_MAX) return null;
      const octets = Buffer.from(text, 'base64url');
      // Letters that decode to nothing would make other texts of the same position.
      if (octets.toString('base64url') !== text) return null;
      try {
        const [seq = '', at = '', epoch = ''] = encryption.decrypt(customerId, octets).split(' ');
        return { seq: Number(seq), at: Number(at), epoch };
      } catch {
        return null;
      }
    },
  };
}

export type Positions = ReturnType<typeof openPositions>;

interface UnitDeps extends HasStore, HasClock {
  readonly positions: Positions;
  /** Encrypts stored answers at rest: some contain a secret that is shown once. */
  readonly answers: SecretEncryption;
}

/** The unit of work of a request, as `writeAs` runs it. After its commit the answer says where it ended in the feed, for `GET /propagation`. */
export function unitOf({ store, clock, positions }: Omit<UnitDeps, 'answers'>, reply: FastifyReply): RunUnit {
  return async (actor, work, others) => {
    const { customerId } = actor;
    const at = clock();
    let marks = NO_MARKS;
    const inUnit: typeof work = async (tx, held) => {
      const value = await work(tx, held);
      marks = marksOf(tx);
      return value;
    };
    const result = await writeAs({ store, clock }, actor, inUnit, others);
    const { seq, epoch } = marks;
    if (seq !== null && epoch !== null) {
      reply.header('x-service-seq', positions.text(customerId, { seq, at, epoch: epochTag(epoch) }));
    }
    return result;
  };
}

interface StoredAnswer {
  /** Hex SHA-256 of the path, the condition and the body: a key belongs to one request. */
  readonly request: string;
  readonly result: unknown;
}

/** Rolls back a unit of work when another request has taken its key. `runOnce` catches it. */
class Repeated extends Error {}

/**
 * Runs the use case of a POST, once for each `Idempotency-Key`. Its unit of work also stores its result: a crash leaves both or none. A
 * second request waits for the result of the first. A failure leaves the key free.
 * @throws AppError 400 for an invalid key; 401 when the credential has ended since the request began, also for a repeat that waited; 422 when the key was used for another
 *   request, or the customer has too many keys; errors of `run`
 */
export async function runOnce<T>(
  deps: UnitDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  run: (unit: RunUnit) => Promise<T>,
): Promise<T> {
  const unit = unitOf(deps, reply);
  const key = request.headers['idempotency-key'];
  if (key === undefined) return run(unit);
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw malformed(
      400,
      `Idempotency-Key must have 1 to ${LIMITS.idempotencyKey} printable ASCII characters`,
    );
  }
  const { store, answers } = deps;
  const actor = actorOf(request);
  const id = sha256([actor.customerId, scopeOf(actor), key]);
  const { 'if-none-match': ifNoneMatch, 'if-match': ifMatch } = request.headers;
  const content = sha256([request.url, ifNoneMatch, ifMatch, request.bodyDigest]);
  const now = deps.clock();
  const before = now - ANSWER_KEPT;
  const resultOf = (encrypted: Uint8Array): T => {
    const answer = JSON.parse(answers.decrypt(id, encrypted)) as StoredAnswer;
    if (answer.request !== content) throw invalid('Idempotency-Key was used with another request');
    return answer.result as T;
  };
  const known = await findAnswer(store.read, id, before);
  if (known !== null) return resultOf(known);
  try {
    return await run((by, work, others) =>
      unit(
        by,
        async (tx, held) => {
          const row = { id, customer_id: actor.customerId, created_at: now };
          if (!(await takeKey(tx, row, before))) throw new Repeated();
          const result = await work(tx, held);
          const answer: StoredAnswer = { request: content, result };
          await storeAnswer(tx, id, answers.encrypt(id, JSON.stringify(answer)));
          await requireRoom(tx, actor);
          return result;
        },
        others,
      ),
    );
  } catch (error) {
    if (!(error instanceof Repeated)) throw error;
  }
  // The unit that took the key has committed: it held the row of the customer, as this one does.
  const other = await writeAs(deps, actor, (tx) => findAnswer(tx, id, before));
  if (other === null) throw new Error('an idempotency key was taken and has no answer');
  return resultOf(other);
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

function sha256(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Keys of one unit of work. More would delay writers. */
const BATCH = 500;

/** Milliseconds. */
export const SWEEP_EVERY = 60_000;

export async function sweepAnswers({ store, clock }: HasStore & HasClock): Promise<void> {
  const before = clock() - ANSWER_KEPT;
  while ((await store.write((tx) => forgetAnswers(tx, before, BATCH))) === BATCH);
}
