/** The streams of the feed: how they are set up, appended to and read. */
import type { JetStreamClient, JetStreamManager, StreamConfig } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  AppendConflictError,
  BusError,
  chunkSubject,
  STREAMS,
  type StreamMessage,
  SUBJECTS,
} from '../bus.ts';

/** Of the streams that control makes. */
export interface StreamSizes {
  /** Copies, on as many servers of the cluster. */
  readonly replicas: number;
  /** Octets that a stream may hold; older messages are removed. */
  readonly feedOctets: number;
  readonly chunkOctets: number;
}

export interface NatsStreams {
  append(data: Uint8Array, expectedLast: number): Promise<number>;
  readFrom(seq: number, limit: number): Promise<readonly StreamMessage[]>;
  readLast(): Promise<StreamMessage | null>;
  lastSeq(): Promise<number>;
  eraseStreams(): Promise<void>;
  putChunk(name: string, data: Uint8Array): Promise<void>;
  getChunk(name: string): Promise<Uint8Array | null>;
  deleteChunk(name: string): Promise<void>;
  reserveChunks(octets: number): Promise<void>;
  chunkNames(): Promise<readonly string[]>;
}

/** Longer than the pause of a broker that is busy, shorter than an election: the publisher tries again. */
const TIMEOUT_MS = 1_500;
const HOUR_NS = 3_600_000_000_000;
/** After this time nodes read a snapshot, and the keys are gone too. */
const FEED_HOURS = 2;
const MESSAGE_OCTETS = 1_048_576;
/** Reads that are under way at once, a message each: as many as have about a megabyte, by the longest of the last ones. */
const READS_LEAST = 16;
/**
 * Long messages may follow short ones. A broker closes a connection to which 64 MiB wait (`max_pending`), and a node may have little memory: so
 * many batches of `feedStreamOctets` are less. A distant broker gives them in one round trip.
 */
const READS_MOST = 512;
const READS_OCTETS = 1_048_576;
/** Who reads on holds what one call brought: after so many octets it ends. */
const CALL_OCTETS = 8 * 1_048_576;
const LAST = { last_by_subj: SUBJECTS.log };
const chunkSubjects = `${SUBJECTS.chunks}.>`;

/** @param longest octets of the longest of the last messages @param left messages that are still wanted */
export function readsAtOnce(longest: number, left: number): number {
  const wanted = Math.floor(READS_OCTETS / Math.max(1, longest));
  return Math.min(READS_MOST, Math.max(READS_LEAST, wanted), left);
}

/** Those that were answered before the first one that failed. Rejects with what the first one of all rejects with. */
export async function answeredInOrder<T>(
  reads: readonly Promise<T>[],
): Promise<{ readonly found: readonly T[]; readonly isWhole: boolean }> {
  const found: T[] = [];
  for (const answer of await Promise.allSettled(reads)) {
    if (answer.status === 'fulfilled') found.push(answer.value);
    else if (found.length === 0) throw answer.reason;
    else return { found, isWhole: false };
  }
  return { found, isWhole: true };
}

/**
 * Asks the broker nothing: without a leader of JetStream it would not answer, while live messages already pass.
 * @param sizes makes the streams where they are missing, before the first use; null: a node, which may not
 */
export async function openStreams(
  connection: NatsConnection,
  sizes: StreamSizes | null,
): Promise<NatsStreams> {
  const { jetstreamManager, JetStreamApiError, JetStreamApiCodes } = await import('@nats-io/jetstream');
  // No question about the account: nodes may not ask it.
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: TIMEOUT_MS });
  const client = manager.jetstream();
  const ready = sizes === null ? async () => {} : onceDone(() => makeStreams(manager, sizes));
  // Nodes read what they lack there. A failure is reported to the next call, which tries again.
  ready().catch(() => {});
  const isConflict = (error: unknown): boolean =>
    error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamWrongLastSequence;

  /** Octets of the longest message of the last reads. */
  let longest = MESSAGE_OCTETS;

  async function get(query: Parameters<typeof manager.direct.getMessage>[1]): Promise<StreamMessage | null> {
    await ready();
    const found = await manager.direct.getMessage(STREAMS.feed, query);
    return found === null ? null : { seq: found.seq, data: found.data };
  }

  /** A copy that answers others may lag behind its leader, or have lost it: a publisher would take its own messages for missing. */
  async function lastOfLeader(): Promise<StreamMessage | null> {
    await ready();
    const found = await manager.streams.getMessage(STREAMS.feed, LAST);
    return found === null ? null : { seq: found.seq, data: found.data };
  }

  const chunk = async (name: string) => {
    await ready();
    return manager.direct.getMessage(STREAMS.chunks, { last_by_subj: chunkSubject(name) });
  };

  return {
    async append(data, expectedLast) {
      await ready();
      try {
        return await append(client, data, expectedLast);
      } catch (error) {
        throw isConflict(error) ? new AppendConflictError() : error;
      }
    },
    async readFrom(seq, limit) {
      const messages: StreamMessage[] = [];
      let next = seq;
      let octets = 0;
      while (messages.length < limit && octets < CALL_OCTETS) {
        const isFirst = messages.length === 0;
        const count = readsAtOnce(longest, limit - messages.length);
        // The first one with those that probably follow it: each round trip to a distant broker takes a tenth of a second.
        const reads = Array.from({ length: count }, (_, i) =>
          get(isFirst && i === 0 ? { seq, next_by_subj: SUBJECTS.log } : { seq: next + i }),
        );
        const { found, isWhole } = await answeredInOrder(reads).catch((error: unknown) => {
          longest = MESSAGE_OCTETS;
          throw error;
        });
        const gap = found.findIndex((message, i) => message?.seq !== next + i);
        const rest = gap < 0 ? found : found.slice(0, isFirst && gap === 0 ? 1 : gap);
        const read = rest.filter((message) => message !== null);
        // A read at the end of the stream brings nothing, and tells nothing of what comes next.
        if (read.length > 0) longest = Math.max(...read.map(({ data }) => data.length));
        for (const { data } of read) octets += data.length;
        messages.push(...read);
        if (!isWhole) {
          // More than the line brings in time, as after many short messages before long ones: the next read asks for few.
          longest = MESSAGE_OCTETS;
          break;
        }
        // Those before the first one were removed: what follows it is asked for now.
        if (gap >= 0 && !(isFirst && gap === 0 && read.length > 0)) break;
        next = messages.at(-1)!.seq + 1;
      }
      return messages;
    },
    async readLast() {
      const last = await (sizes === null ? get(LAST) : lastOfLeader());
      longest = last?.data.length ?? longest;
      return last;
    },
    async lastSeq() {
      await ready();
      return (await manager.streams.info(STREAMS.feed)).state.last_seq;
    },
    async eraseStreams() {
      await ready();
      // A purge of everything removes the files. One by subject or up to a number leaves the octets in them.
      for (const name of Object.values(STREAMS)) await manager.streams.purge(name);
    },
    async putChunk(name, data) {
      await ready();
      const subject = chunkSubject(name);
      const { stream } = await client.publish(subject, data, { timeout: TIMEOUT_MS });
      if (stream !== STREAMS.chunks) throw new BusError('failed');
    },
    getChunk: async (name) => (await chunk(name))?.data ?? null,
    async deleteChunk(name) {
      const found = await chunk(name);
      // The third argument erases: the broker overwrites the message on its disk. A purge would not.
      if (found !== null) await manager.streams.deleteMessage(STREAMS.chunks, found.seq, true);
    },
    async reserveChunks(octets) {
      await ready();
      const { config } = await manager.streams.info(STREAMS.chunks);
      // A negative number is no bound.
      const isBounded = config.max_bytes >= 0 && config.max_bytes < octets;
      if (isBounded) await manager.streams.update(STREAMS.chunks, { ...config, max_bytes: octets });
    },
    async chunkNames() {
      await ready();
      const { state } = await manager.streams.info(STREAMS.chunks, { subjects_filter: chunkSubjects });
      const prefix = `${SUBJECTS.chunks}.`;
      return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(prefix.length));
    },
  };
}

/** Runs `work` until it has succeeded once; calls at the same time share one run. */
function onceDone(work: () => Promise<void>): () => Promise<void> {
  let isDone = false;
  let running: Promise<void> | null = null;
  return async () => {
    if (isDone) return;
    running ??= work().finally(() => {
      running = null;
    });
    await running;
    isDone = true;
  };
}

async function append(client: JetStreamClient, data: Uint8Array, expectedLast: number): Promise<number> {
  const { seq } = await client.publish(SUBJECTS.log, data, {
    expect: { streamName: STREAMS.feed, lastSequence: expectedLast },
    timeout: TIMEOUT_MS,
  });
  return seq;
}

async function makeStreams(manager: JetStreamManager, sizes: StreamSizes): Promise<void> {
  const { DiscardPolicy, RetentionPolicy, StorageType } = await import('@nats-io/jetstream');
  const common = {
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    num_replicas: sizes.replicas,
    max_msg_size: MESSAGE_OCTETS,
    allow_direct: true,
  };
  const present = new Set<string>();
  for await (const name of manager.streams.names()) present.add(name);
  const wanted: readonly (Partial<StreamConfig> & { readonly name: string })[] = [
    {
      ...common,
      name: STREAMS.feed,
      subjects: [SUBJECTS.log],
      max_age: FEED_HOURS * HOUR_NS,
      max_bytes: sizes.feedOctets,
    },
    {
      ...common,
      name: STREAMS.chunks,
      subjects: [chunkSubjects],
      max_msgs_per_subject: 1,
      max_bytes: sizes.chunkOctets,
    },
  ];
  // A present stream stays as it is: the operator may have made it larger.
  for (const stream of wanted) if (!present.has(stream.name)) await manager.streams.add(stream);
}
