/** The loop that signs the transparency log: it asks the witnesses, signs, has it cosigned, and publishes. It cannot sign two histories. */

import type { KeyObject } from 'node:crypto';
import type { Random } from '../../base/chance.ts';
import { randomUuid } from '../../base/chance.ts';
import { loopTimers, type Timers } from '../../base/lifecycle/timers.ts';
import type { OutboundClient } from '../../outbound/outbound-client.ts';
import { treeHeadText } from '../../protocol/transparency/checkpoint.ts';
import { printNote } from '../../protocol/transparency/note.ts';
import { isQuorum, type TrustPolicy } from '../../protocol/transparency/policy.ts';
import { signNote } from '../../protocol/transparency/signatures.ts';
import { sameOctets } from '../../protocol/transparency/tree.ts';
import { readFact } from '../../store/service-facts.ts';
import { storeLoop } from '../../store/store-loop.ts';
import {
  endLogTurn,
  holdLogHead,
  insertLogCheckpoint,
  type LogCheckpoint,
  lastPublishedCheckpoint,
  lastSignedCheckpoint,
  readLogHead,
  takeLogTurn,
  unprovedManifests,
} from '../../store/transparency.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { appendMissing } from './missing.ts';
import { publishCheckpoint } from './publish.ts';
import { checkEntries, consistencyAt, LogDamaged, rootAt } from './tree.ts';
import {
  cosignersOf,
  type LogCheckpointNote,
  mayBeBehind,
  submitToWitnesses,
  type WitnessAnswer,
} from './witnesses.ts';

export interface LogKey {
  readonly origin: string;
  /** Ed25519. */
  readonly privateKey: KeyObject;
}

/**
 * How the log is. `absent`: `uqrp log init` has not run. `current`: all entries are published. `waiting`: there is no quorum. `behind`: a witness
 * holds a larger checkpoint than this database. `damaged`: the entries do not give what was signed. `keyless`: the key of the log is missing.
 */
export type SignerState = 'absent' | 'current' | 'waiting' | 'behind' | 'damaged' | 'keyless';

/** What a pass found. Sizes are numbers of entries. */
export interface SignerReport {
  readonly state: SignerState;
  readonly entries: number;
  readonly signed: number;
  readonly published: number;
  /** When the newest checkpoint was cosigned, milliseconds since the epoch; null: none is published. */
  readonly publishedAt: number | null;
  /** Of the last time that they were asked. */
  readonly witnesses: readonly WitnessAnswer[];
}

export interface SignerDeps extends HasStore, HasClock {
  /** The witnesses, each with its URL, and the quorum. */
  readonly policy: TrustPolicy;
  readonly send: OutboundClient;
  /** Null: there is none. */
  readonly findKey: () => Promise<LogKey | null>;
  readonly random: Random;
}

export interface LogSigner {
  /** One pass of the steps. @returns milliseconds until the next one without a wake-up; null: until the next commit */
  pass(signal?: AbortSignal): Promise<number | null>;
  report(): SignerReport;
}

/** An unchanged head is submitted again after this time: its cosignatures stay fresh. */
export const RENEW_MS = 6 * 3_600_000;
/** Milliseconds between two tries while witnesses are away, or the log is behind. */
const RETRY_MS = 15_000;
/** Milliseconds of a process's turn. A pass takes less: two steps of one deadline for each witness, side by side. */
const TURN_MS = 60_000;

interface Heads {
  readonly entries: number;
  readonly signed: LogCheckpoint;
  readonly published: LogCheckpoint | null;
}

export function createLogSigner(deps: SignerDeps): LogSigner {
  const { store, clock, policy } = deps;
  const holder = randomUuid(deps.random);
  /** Of the change log. With another one the database is another one, which may lack what was signed. */
  let epoch: string | null = null;
  let isChecked = false;
  /** Whether a quorum has answered this process. A database that was restored learns from it that it is behind, also while it publishes nothing. */
  let isAsked = false;
  /** When it was last looked for what a process without the log has published. */
  let lookedAt = Number.NEGATIVE_INFINITY;
  let report: SignerReport = {
    state: 'absent',
    entries: 0,
    signed: 0,
    published: 0,
    publishedAt: null,
    witnesses: [],
  };

  function tell(state: SignerState, heads: Heads | null, witnesses?: readonly WitnessAnswer[]): void {
    report = {
      state,
      entries: heads?.entries ?? 0,
      signed: heads?.signed.size ?? 0,
      published: heads?.published?.size ?? 0,
      publishedAt: heads?.published?.published ?? null,
      witnesses: witnesses ?? report.witnesses,
    };
  }

  async function readHeads(): Promise<Heads | null> {
    const { read } = store;
    const signed = await lastSignedCheckpoint(read);
    const published = await lastPublishedCheckpoint(read);
    // Last: it may only be larger than what the others say.
    const head = await readLogHead(read);
    return head && signed && { entries: head.size, signed, published };
  }

  /** Milliseconds until there is something to do; null: at once. */
  async function restOf({ entries, signed, published }: Heads): Promise<number | null> {
    if (published === null) return entries === 0 && signed.size === 0 ? RENEW_MS : null;
    if (published.size < entries || published.size < signed.size) return null;
    if ((await unprovedManifests(store.read, published.size, 1)).length > 0) return null;
    const age = clock() - (published.published ?? 0);
    // A clock that was set back must not make the wait longer.
    return age >= 0 && age < RENEW_MS ? RENEW_MS - age : null;
  }

  /** Step 2, and step 4. @returns null without a quorum, or when a witness is ahead of this database */
  async function cosign(
    key: LogKey,
    checkpoint: LogCheckpointNote,
    old: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly WitnessAnswer[] | null> {
    const answers = await submitToWitnesses(
      deps.send,
      policy,
      {
        origin: key.origin,
        checkpoint,
        old,
        prove: (from) =>
          from >= checkpoint.size ? Promise.resolve([]) : consistencyAt(store.read, from, checkpoint.size),
      },
      signal,
    );
    const heads = await readHeads();
    // Another process of ours may have signed a larger size since: then nothing is wrong.
    const known = heads?.signed.size ?? 0;
    if (mayBeBehind(answers) && answers.some(({ state, size }) => state === 'ahead' && size! > known)) {
      tell('behind', heads, answers);
      return null;
    }
    if (mayBeBehind(answers) || !isQuorum(policy, cosignersOf(answers))) {
      tell('waiting', heads, answers);
      return null;
    }
    tell(report.state, heads, answers);
    return answers;
  }

  /** Step 3. @returns null when another process has signed meanwhile */
  function sign(key: LogKey, asked: LogCheckpoint): Promise<LogCheckpoint | null> {
    return store.write(async (tx) => {
      const head = await holdLogHead(tx);
      const last = await lastSignedCheckpoint(tx);
      // What the witnesses were asked about must still be the last: a unit that recovers the log holds the head too.
      if (head === null || last === null || last.size !== asked.size || !sameOctets(last.root, asked.root))
        return null;
      if (!sameOctets(await rootAt(tx, last.size), last.root))
        throw new LogDamaged('its entries do not give the root that was signed last');
      const root = await rootAt(tx, head.size);
      const checkpoint = { size: head.size, root, note: signedNote(key, head.size, root), published: null };
      await insertLogCheckpoint(tx, checkpoint);
      return checkpoint;
    });
  }

  async function publish(checkpoint: LogCheckpointNote, answers: readonly WitnessAnswer[]): Promise<void> {
    await publishCheckpoint({ store, policy, checkpoint, answers, now: clock() });
  }

  async function step(key: LogKey, heads: Heads, signal?: AbortSignal): Promise<number | null> {
    const { signed } = heads;
    const asked = await cosign(key, signed, signed.size, signal);
    if (asked === null) return RETRY_MS;
    isAsked = true;
    if (signed.size === heads.entries) {
      if (signed.size > 0) await publish(signed, asked);
      return null;
    }
    const next = await sign(key, signed);
    if (next === null) return 0;
    const answers = await cosign(key, next, signed.size, signal);
    if (answers === null) return RETRY_MS;
    await publish(next, answers);
    return null;
  }

  const endTurn = (): Promise<void> => store.write((tx) => endLogTurn(tx, holder));

  async function pass(signal?: AbortSignal): Promise<number | null> {
    const head = await readLogHead(store.read);
    if (head === null) {
      tell('absent', null);
      return null;
    }
    const now = clock();
    const found = await readFact(store.read, 'epoch');
    if (found !== epoch) {
      isChecked = false;
      isAsked = false;
      lookedAt = Number.NEGATIVE_INFINITY;
    }
    epoch = found;
    const isLooked = Math.abs(now - lookedAt) < RENEW_MS;
    // A pass that has nothing to do writes nothing: its commit would wake the next one.
    const idle = isChecked && isAsked && isLooked ? await readHeads() : null;
    const idleFor = idle && (await restOf(idle));
    if (idleFor !== null) {
      tell('current', idle);
      return idleFor;
    }
    if (!(await store.write((tx) => takeLogTurn(tx, holder, now, now + TURN_MS)))) {
      // The other process tells how it is; sizes are told by all.
      const shown = await readHeads();
      const first = shown && (await restOf(shown)) !== null ? 'current' : 'waiting';
      tell(report.state === 'absent' ? first : report.state, shown);
      return TURN_MS;
    }
    if (!isLooked) {
      await appendMissing(deps);
      lookedAt = now;
    }
    const heads = await readHeads();
    const key = await deps.findKey();
    if (heads === null || key === null || key.origin !== head.origin) {
      tell('keyless', heads);
      return RETRY_MS;
    }
    if (!isChecked) await checkEntries(store.read, heads.signed.size);
    isChecked = true;
    const rest = isAsked ? await restOf(heads) : null;
    if (rest !== null) {
      await endTurn();
      tell('current', heads);
      return rest;
    }
    const wait = await step(key, heads, signal);
    if (wait !== null) return wait;
    await endTurn();
    const after = await readHeads();
    const left = after && (await restOf(after));
    tell(left === null ? 'waiting' : 'current', after);
    return left ?? 0;
  }

  return {
    async pass(signal) {
      try {
        return await pass(signal);
      } catch (error) {
        if (error instanceof LogDamaged) {
          isChecked = false;
          tell('damaged', await readHeads());
        }
        throw error;
      }
    },
    report: () => report,
  };
}

/** The note of a tree head as the log signs it: for a size and root always the same octets. */
export function signedNote({ origin, privateKey }: LogKey, size: number, root: Uint8Array): string {
  const text = treeHeadText({ origin, size, root });
  return printNote({ text, signatures: [signNote(text, origin, privateKey)] });
}

export interface SignerLoopOptions {
  readonly signer: LogSigner;
  readonly store: SignerDeps['store'];
  readonly signal: AbortSignal;
  readonly timers?: Timers | undefined;
  readonly onReport: (report: SignerReport) => void;
  readonly onError: (error: unknown) => void;
}

/** Milliseconds between two passes while units commit. */
const BUSY_MS = 1000;

/** Runs until the signal. It wakes for commits: an entry was appended in one of them. */
export function runLogSigner({
  signer,
  store,
  signal,
  timers,
  onReport,
  onError,
}: SignerLoopOptions): Promise<void> {
  /** No commit ends this rest: witnesses are not asked every second while they are away. */
  let restsUntil = 0;
  const { elapsed } = timers ?? loopTimers;
  return storeLoop({
    store,
    signal,
    timers,
    busyMs: BUSY_MS,
    async pass() {
      const left = restsUntil - elapsed();
      if (left > 0) return left;
      let isDone = false;
      try {
        const wait = await signer.pass(signal);
        isDone = wait === 0 || wait === null || signer.report().state === 'current';
        return wait;
      } finally {
        if (!isDone) restsUntil = elapsed() + RETRY_MS;
        onReport(signer.report());
      }
    },
    onError,
    backoff: { firstMs: 1000, capMs: 60_000 },
  });
}
