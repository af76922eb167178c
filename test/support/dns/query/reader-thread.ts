/**
 * A worker thread that answers as a node's does: LMDB reader, freshness memory, packet cache. It never returns to its event loop, so no
 * turn of the loop hides a snapshot that should have been renewed. Both sides wait for each other in shared memory, so that a test says
 * what happens between two statements of either.
 */

import { once } from 'node:events';
import {
  MessageChannel,
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  Worker,
  workerData,
} from 'node:worker_threads';
import { makePacketHandler } from '../../../../src/dns/query/packet.ts';
import { rdataToText } from '../../../../src/protocol/dns/rdata/present.ts';
import { attachFreshness } from '../../../../src/view/freshness.ts';
import { openLmdbReader } from '../../../../src/view/reader.ts';
import { cachedReply, messageOf, queryOf, START, zoneOf } from './signed-node.ts';

/** Where the thread stops on its way through a question: once it has taken the step. */
export const STEPS = ['counters', 'refresh', 'namespace', 'token', 'record'] as const;
export type Step = (typeof STEPS)[number];

interface Settings {
  readonly path: string;
  readonly freshness: SharedArrayBuffer;
  readonly words: SharedArrayBuffer;
  readonly port: MessagePort;
}

type Call = { readonly name: string; readonly step: Step | null } | 'close';

/** Words of the shared memory: each counts what one side has said. */
const [TO_THREAD, FROM_THREAD] = [0, 1];
/** A thread that says nothing for so long stands still. */
const PATIENCE_MS = 30_000;

function say(words: Int32Array, word: number): void {
  Atomics.add(words, word, 1);
  Atomics.notify(words, word);
}

function hear(words: Int32Array, word: number, heard: number): void {
  // A notice may come late, when its word was heard without it.
  while (Atomics.load(words, word) === heard)
    if (Atomics.wait(words, word, heard, PATIENCE_MS) === 'timed-out')
      throw new Error('the other side stands still');
}

export interface ReaderThread {
  /** The reply code and the texts of the answer, from the cache where it has one. */
  ask(name: string): string;
  /** Asks, and returns once the thread has taken the step, and waits; false: the question took no such step, and is answered. */
  askUntil(name: string, step: Step): boolean;
  /** The answer to the question of `askUntil`. */
  goOn(): string;
  close(): Promise<void>;
}

/** Resolves once the thread waits for questions: to start, it may need this thread. */
export async function startReaderThread(path: string, freshness: SharedArrayBuffer): Promise<ReaderThread> {
  const words = new Int32Array(new SharedArrayBuffer(8));
  const { port1, port2 } = new MessageChannel();
  const settings: Settings = { path, freshness, words: words.buffer, port: port2 };
  const thread = new Worker(new URL(import.meta.url), { workerData: settings, transferList: [port2] });
  const ended = new Promise<void>((resolve, reject) => {
    thread.on('error', reject);
    thread.on('exit', () => resolve());
  });
  ended.catch(() => {});
  await Promise.race([once(thread, 'message'), ended]);
  let heard = 0;
  let answer: string | null = null;

  /** The answer, or null when the thread has stopped at a step. */
  function next(): string | null {
    hear(words, FROM_THREAD, heard++);
    const { message } = receiveMessageOnPort(port1) as {
      readonly message: { readonly answer: string | null };
    };
    return message.answer;
  }

  return {
    ask(name) {
      port1.postMessage({ name, step: null } satisfies Call);
      say(words, TO_THREAD);
      return next()!;
    },
    askUntil(name, step) {
      port1.postMessage({ name, step } satisfies Call);
      say(words, TO_THREAD);
      answer = next();
      return answer === null;
    },
    goOn() {
      if (answer !== null) return answer;
      say(words, TO_THREAD);
      return next()!;
    },
    async close() {
      port1.postMessage('close' satisfies Call);
      say(words, TO_THREAD);
      await ended;
      port1.close();
    },
  };
}

async function answerAll(
  { path, freshness: buffer, words: shared, port }: Settings,
  ready: () => void,
): Promise<void> {
  const words = new Int32Array(shared);
  const counters = attachFreshness(buffer);
  const reader = openLmdbReader({ path, freshness: counters });
  let heard = 0;
  let stopAt: Step | null = null;

  const tell = (answer: string | null): void => {
    port.postMessage({ answer });
    say(words, FROM_THREAD);
  };
  const after =
    <Args extends unknown[], T>(step: Step, work: (...args: Args) => T) =>
    (...args: Args): T => {
      const result = work(...args);
      if (stopAt === step) {
        stopAt = null;
        tell(null);
        hear(words, TO_THREAD, heard++);
      }
      return result;
    };
  const clock = { now: START };
  const handler = makePacketHandler({
    view: {
      ...reader,
      refresh: after('refresh', () => reader.refresh()),
      namespace: after('namespace', (name) => reader.namespace(name)),
      token: after('token', (digest) => reader.token(digest)),
      record: after('record', (key) => reader.record(key)),
    },
    access: { sync: true, demo: false },
    services: new Map(),
    identity: 'thread',
    freshness: { ...counters, read: after('counters', (index) => counters.read(index)) },
    clock: () => clock.now,
    zones: zoneOf(null, clock),
  });

  function answer(name: string): string {
    const query = queryOf(name, { dnssecOk: false });
    const { rcode, answer: found } = messageOf(
      cachedReply(handler, query) ?? (handler.slow(query, 'udp', false) as Uint8Array),
    );
    return [rcode, ...found.map(({ type, rdata }) => rdataToText(type, rdata))].join(' ');
  }

  ready();
  for (;;) {
    hear(words, TO_THREAD, heard++);
    const { message } = receiveMessageOnPort(port) as { readonly message: Call };
    if (message === 'close') break;
    stopAt = message.step;
    const text = answer(message.name);
    stopAt = null;
    tell(text);
  }
  await reader.close();
  port.close();
}

const parent = parentPort;
if (parent !== null) await answerAll(workerData as Settings, () => parent.postMessage('ready'));
