/**
 * Questions and control's answers, as messages. `ask` and `tell` are the end of a node and of the command line, `answerQuestions` is
 * control's end. One rule of freshness: an answer has the hash of its question, and what is told has a time.
 */
import { createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto';
import { createPlaces, type PlacesOptions } from '../../base/lifecycle/places.ts';
import type { Clock } from '../../base/time.ts';
import { type Bus, BusError, pageSubject, SUBJECTS, subjectOfNode } from '../bus/bus.ts';
import { createRequestRate, type RequestLimit } from '../bus/node-budgets.ts';
import { CONTROL_NAME } from '../ports/credentials.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';
import type { BatchSecrets, PackedRows } from './batch.ts';
import {
  FEED_KEY_OCTETS,
  type FeedKey,
  type FeedKeyRing,
  type FeedVerifier,
  feedKey,
  feedKeyRing,
  feedSigner,
} from './keys.ts';
import {
  type AnswerStatus,
  controlOnly,
  jsonUnderKey,
  type MessageBody,
  type MessageKind,
  type MessageSigning,
  messageHash,
  openFresh,
  openMessage,
  packJson,
  type SignedMessage,
  type VerifierOf,
  writeMessage,
} from './message.ts';

interface RpcOptions {
  readonly bus: Bus;
  /** In the credentials. */
  readonly name: string;
  /** Of the nkey of a node; of the feed at control. */
  readonly signing: MessageSigning;
  /** Of those who sign for control. */
  readonly verifier: FeedVerifier;
  /** The hourly key to encrypt with now; null: there is none yet. */
  readonly presentKey: () => FeedKey | null;
  readonly ring: () => FeedKeyRing;
  readonly clock: Clock;
  /** An answer to `ask` that was not used; the call rejects too. */
  readonly onRefused?: (reason: FeedRefusal) => void;
}

/** What control answered: JSON, or null. */
interface Answer {
  readonly status: AnswerStatus;
  readonly body: unknown;
}

export interface Rpc {
  /** JSON under the hourly key. @throws BusError; FeedRefusedError for an answer that must not be used */
  ask(kind: MessageKind, body: unknown, timeoutMs: number): Promise<Answer>;
  /**
   * In clear text, without a key. Refusals are the caller's to count.
   * @param snapshot of a page: hash of the question that opened it
   * @throws BusError, `failed` when control cannot answer now; FeedRefusedError
   */
  askPlain(
    kind: MessageKind,
    timeoutMs: number,
    clear?: Uint8Array,
    snapshot?: Uint8Array,
  ): Promise<{ readonly answer: SignedMessage; readonly question: Uint8Array }>;
  /** JSON under the hourly key, without an answer. Without a connection or a key it does nothing. */
  tell(kind: MessageKind, body: unknown): void;
}

/** Control was reached, and did not do what was asked. A repeat may succeed. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly status: 'busy' | 'failed';

  constructor(status: 'busy' | 'failed') {
    super(
      status === 'busy' ? 'control answers only so many requests a second' : 'control could not do it now',
    );
    this.status = status;
  }
}

/** The body of an answer that is `done`. @throws RpcError */
export function doneBody({ status, body }: Answer): unknown {
  if (status !== 'done') throw new RpcError(status === 'busy' ? 'busy' : 'failed');
  return body;
}

export function createRpc(options: RpcOptions): Rpc {
  const { bus, name, signing, verifier, presentKey, ring, clock, onRefused } = options;

  function write(kind: MessageKind, key: FeedKey, body: unknown): Uint8Array {
    const fields = { kind, from: name, to: CONTROL_NAME, at: clock() };
    return writeMessage(fields, signing, { key, packed: packJson(body) });
  }

  async function send(kind: MessageKind, message: Uint8Array, ms: number, subject = subjectOf(kind, name)) {
    const question = messageHash(message);
    const answer = await bus.request(subject, message, ms);
    return { question, answer: openFresh(answer, kind, name, verifier, { question }) };
  }

  return {
    async ask(kind, body, timeoutMs) {
      const key = presentKey();
      // Keys come with the connection: until then nothing can be sent.
      if (key === null) throw new BusError('disconnected');
      try {
        const { answer } = await send(kind, write(kind, key, body), timeoutMs);
        return { status: answer.status, body: answer.body === null ? null : jsonUnderKey(answer, ring()) };
      } catch (error) {
        if (error instanceof FeedRefusedError) onRefused?.(error.reason);
        throw error;
      }
    },
    async askPlain(kind, timeoutMs, clear, snapshot) {
      const fields = { kind, from: name, to: CONTROL_NAME, at: clock() };
      const message = writeMessage(clear === undefined ? fields : { ...fields, clear }, signing);
      const subject = snapshot === undefined ? subjectOf(kind, name) : snapshotSubject(snapshot);
      const found = await send(kind, message, timeoutMs, subject);
      // Control is there, and cannot answer now.
      if (found.answer.status !== 'done') throw new BusError('failed');
      return found;
    },
    tell(kind, body) {
      const key = presentKey();
      if (key !== null) bus.publish(subjectOf(kind, name), write(kind, key, body));
    },
  };
}

/** Where a kind of message is sent. @param node `*`: where control hears all nodes */
export function subjectOf(kind: MessageKind, node: string): string {
  switch (kind) {
    case 'changes':
      return SUBJECTS.live;
    case 'head':
      return SUBJECTS.head;
    case 'keys':
      return subjectOfNode(SUBJECTS.askKeys, node);
    case 'secrets':
      return subjectOfNode(SUBJECTS.askSecrets, node);
    case 'usage':
    case 'rows':
      return subjectOfNode(SUBJECTS.meter, node);
    case 'state':
      return subjectOfNode(SUBJECTS.state, node);
    case 'provider':
      return subjectOfNode(SUBJECTS.ask, node);
    case 'status':
      return SUBJECTS.status;
    case 'publisher':
      return `${SUBJECTS.status}.publisher`;
    case 'command':
      return SUBJECTS.command;
    case 'make':
      return SUBJECTS.makeSnapshot;
    default:
      return subjectOfNode(SUBJECTS.get, node);
  }
}

/** Of the pages of an open snapshot: only the node knows it that opened it. @param question hash of the one that opened it */
export function snapshotSubject(question: Uint8Array): string {
  return pageSubject(Buffer.from(question.subarray(0, 16)).toString('hex'));
}

/** Control's end. */
export interface ControlEnd {
  readonly bus: Bus;
  /** Null for a name that is not in `nodes.json`. */
  readonly verifierOf: VerifierOf;
  readonly ring: () => FeedKeyRing;
  readonly signing: MessageSigning;
  /** Asked for each answer with a body. */
  readonly secrets: () => BatchSecrets;
  readonly clock: Clock;
  /** A question that was not used. It has no answer, because nobody knows who sent it. */
  readonly onRefused?: (reason: FeedRefusal) => void;
  /** What made a question fail. */
  readonly onError?: (error: unknown) => void;
}

/** A question whose signature is right. */
export interface SignedQuestion {
  readonly kind: MessageKind;
  /** The name that the signature proves. */
  readonly node: string;
  readonly at: number;
  readonly hash: Uint8Array;
  readonly clear: Uint8Array;
}

/** A question of which the body is decrypted. */
interface JsonQuestion extends SignedQuestion {
  readonly body: unknown;
}

export interface ControlReply {
  readonly status?: AnswerStatus;
  /** Left out: now. */
  readonly at?: number;
  readonly clear?: Uint8Array;
  /** Under the hourly key. */
  readonly json?: unknown;
  readonly rows?: PackedRows;
  /** For the node alone. */
  readonly sealed?: Extract<MessageBody, { readonly recipient: unknown }>;
}

interface Answering<Asked> {
  /** Of one subject. */
  readonly kinds: readonly MessageKind[];
  /** Instead of that of the first kind. */
  readonly subject?: string;
  /** Questions that are worked on at once, of all nodes and of each: others are `busy`. */
  readonly atOnce: PlacesOptions;
  /** Of each node, beside its budget: what is above is `busy`, and not even decrypted. */
  readonly rate?: RequestLimit;
  /** Rejects with `FeedRefusedError` for a content of another shape: the question is `invalid`. */
  readonly answer: (question: Asked) => Promise<ControlReply>;
}

/** A message to control. @throws FeedRefusedError and nothing else */
export function openQuestion(
  { verifierOf }: Pick<ControlEnd, 'verifierOf'>,
  kinds: readonly MessageKind[],
  message: Uint8Array,
): SignedMessage {
  const opened = openMessage(message, kinds, CONTROL_NAME, verifierOf);
  if (opened.answers !== null) throw new FeedRefusedError('format');
  return opened;
}

/** Answers questions in clear text. @returns ends it */
export function answerPlain(end: ControlEnd, answering: Answering<SignedQuestion>): () => void {
  return respond(end, answering, ({ kind, from, at, hash, clear }) => ({
    kind,
    node: from,
    at,
    hash,
    clear,
  }));
}

/** Answers questions under the hourly key. @returns ends it */
export function answerQuestions(end: ControlEnd, answering: Answering<JsonQuestion>): () => void {
  return respond(end, answering, (message) => {
    const { kind, from, at, hash, clear } = message;
    return { kind, node: from, at, hash, clear, body: jsonUnderKey(message, end.ring()) };
  });
}

function respond<Asked>(
  end: ControlEnd,
  { kinds, subject, atOnce, rate, answer }: Answering<Asked>,
  read: (message: SignedMessage) => Asked,
): () => void {
  const { bus, onRefused, onError } = end;
  const places = createPlaces(atOnce);
  const requestRate = rate === undefined ? null : createRequestRate(rate, end.clock);

  async function replyTo(asked: Asked): Promise<ControlReply> {
    try {
      return await answer(asked);
    } catch (error) {
      if (error instanceof FeedRefusedError) {
        onRefused?.(error.reason);
        return { status: 'invalid' };
      }
      onError?.(error);
      return { status: 'failed' };
    }
  }

  return bus.respond(subject ?? subjectOf(kinds[0]!, '*'), async (octets) => {
    try {
      const message = openQuestion(end, kinds, octets);
      // Before the body is decrypted and decompressed: that costs more than all the rest.
      const isAdmitted = requestRate?.admits(message.from) ?? true;
      const asked = isAdmitted ? read(message) : null;
      const reply = asked && (await places.run(message.from, () => replyTo(asked)));
      return writeReply(end, message, reply ?? { status: 'busy' });
    } catch (error) {
      if (error instanceof FeedRefusedError) onRefused?.(error.reason);
      else onError?.(error);
      return null;
    }
  });
}

function writeReply(
  end: Pick<ControlEnd, 'signing' | 'secrets' | 'clock'>,
  { kind, from, hash }: SignedMessage,
  { status = 'done', at = end.clock(), clear, json, rows, sealed }: ControlReply,
): Uint8Array {
  const fields = { kind, from: CONTROL_NAME, to: from, at, answers: hash, status };
  const packed = rows ?? (json === undefined || json === null ? undefined : packJson(json));
  const body = sealed ?? (packed && { key: end.secrets().key, packed });
  return writeMessage(clear === undefined ? fields : { ...fields, clear }, end.signing, body);
}

/**
 * What control processes and the command line share without a database: the key that signs the feed. What they tell each other is encrypted
 * under a key derived from it, so that the command line needs no hourly key.
 */
export interface ControlIdentity {
  readonly key: FeedKey;
  readonly signer: MessageSigning['signer'];
}

const INFO = 'uqrp feed status 1';

/** @param sign PEM of the private key that signs the feed */
export function controlIdentity(sign: string): ControlIdentity {
  const privateKey = createPrivateKey(sign);
  const secret = privateKey.export({ format: 'der', type: 'pkcs8' });
  return {
    key: feedKey(Buffer.from(hkdfSync('sha256', secret, '', INFO, FEED_KEY_OCTETS))),
    signer: feedSigner(privateKey, createPublicKey(privateKey)),
  };
}

/** How a holder of control's credentials asks a control process. */
export function controlRpc(
  { key, signer }: ControlIdentity,
  options: Pick<RpcOptions, 'bus' | 'verifier' | 'clock'> & Pick<MessageSigning, 'random'>,
): Rpc {
  const { random, ...rest } = options;
  const ring = feedKeyRing([key]);
  return createRpc({
    ...rest,
    name: CONTROL_NAME,
    signing: { signer, random },
    presentKey: () => key,
    ring: () => ring,
  });
}

/** The end that answers it, and no node. */
export function operatorEnd(
  { key, signer }: ControlIdentity,
  verifier: FeedVerifier,
  options: Omit<ControlEnd, 'verifierOf' | 'ring' | 'secrets' | 'signing'> & Pick<MessageSigning, 'random'>,
): ControlEnd {
  const { random, ...end } = options;
  const ring = feedKeyRing([key]);
  return {
    ...end,
    verifierOf: controlOnly(verifier),
    ring: () => ring,
    signing: { signer, random },
    secrets: () => ({ key, signer, random }),
  };
}
