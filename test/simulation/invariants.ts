import type { HostedRecord } from '../../src/view/view.ts';
import type { MemoryState } from '../support/view/memory-view.ts';
import { versionText } from './datasets/editions.ts';
import {
  answerParts,
  type History,
  LOG_HEAD,
  openness,
  proofName,
  versionName,
  WITHHELD,
} from './history.ts';
import type { Truth } from './truth.ts';

export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** What one node has served so far. It outlives the node's processes and its disk. */
export interface Witness {
  /** Compares what the view serves now with the log. @param now the true time @throws InvariantError */
  look(state: MemoryState, now: number): void;
}

/** The view as values by thing; as `History` has them. Without tokens that have ended by then: views keep them, and tables give them for a day. */
function contentsOf(
  { namespaces, tokens, records, maxTtls, datasets }: MemoryState,
  now = 0,
): Map<string, string> {
  const contents = new Map<string, string>();
  for (const [name, { suspended, publicRead }] of namespaces) {
    contents.set(`namespace ${name}`, suspended ? 'closing' : openness(publicRead, maxTtls.get(name)));
  }
  for (const [digest, { namespace, expiresAt }] of tokens)
    if (expiresAt > now) contents.set(`token ${namespace} ${digest}`, `until ${expiresAt}`);
  for (const [key, record] of records) contents.set(`record ${key}`, textOf(record));
  for (const [id, manifest] of datasets.manifests)
    contents.set(versionName(manifest), versionText(manifest, datasets.items.get(id)));
  for (const [id, proof] of datasets.proofs) {
    const manifest = datasets.manifests.get(id);
    if (manifest !== undefined) contents.set(proofName(manifest), proof);
  }
  for (const checkpoint of datasets.checkpoint.values()) contents.set(LOG_HEAD, checkpoint);
  return contents;
}

/** Views replace a record and never change it, so each text is made once. */
const texts = new WeakMap<HostedRecord, string>();

function textOf(record: HostedRecord | 'withheld'): string {
  if (record === 'withheld') return WITHHELD;
  const known = texts.get(record);
  if (known !== undefined) return known;
  const text = answerParts(record, Buffer.from(record.data).toString('base64'));
  texts.set(record, text);
  return text;
}

export function createWitness(name: string, truth: Truth): Witness {
  let epoch = '';
  /** The latest change that the node has ever applied, in this epoch. */
  let heard = 0;
  /** What was there, and the cursor then. */
  let served = new Map<string, number>();

  return {
    look(state, now) {
      if (state.cursor === null || state.epoch === null) return;
      if (state.epoch !== epoch) {
        epoch = state.epoch;
        heard = 0;
        served = new Map();
      }
      heard = Math.max(heard, state.cursor);
      const history = truth.history(epoch);
      const contents = contentsOf(state);
      for (const [id, since] of served) {
        if (contents.has(id)) continue;
        if (!history.wasAway(id, since) && !isEndedToken(id, history.last(id), now)) {
          throw new InvariantError(
            `${name} refuses an existing name: ${id} at ${state.cursor}, there since ${since}`,
          );
        }
        served.delete(id);
      }
      for (const [id, value] of contents) {
        if (!history.allows(id, value, heard))
          throw new InvariantError(wrong(name, id, history, state, heard));
        served.set(id, state.cursor);
      }
    },
  };
}

/** Tables give tokens for a day after their end, by a clock that is wrong by an hour. */
const GIVEN_MS = 22 * 3_600_000;

/** The log has no row about the end of a token: a view that is built long after it lacks the token. */
function isEndedToken(id: string, value: string | null, now: number): boolean {
  return id.startsWith('token ') && value !== null && Number(value.replace('until ', '')) <= now - GIVEN_MS;
}

function wrong(name: string, id: string, history: History, { cursor }: MemoryState, heard: number): string {
  const isGone = history.last(id) === null;
  if (isGone && id.startsWith('token '))
    return `${name} honours a revoked token: ${id} at ${cursor}, heard ${heard}`;
  if (isGone) return `${name} serves what was erased: ${id} at ${cursor}, heard ${heard}`;
  return `${name} serves what the log does not have: ${id} at ${cursor}, heard ${heard}`;
}

/** @returns how the view differs from one that is built from the tables, or null */
export function difference(state: MemoryState, tables: MemoryState, now: number): string | null {
  if (state.epoch !== tables.epoch) return `epoch ${state.epoch} for ${tables.epoch}`;
  if (state.cursor !== tables.cursor) return `cursor ${state.cursor} for ${tables.cursor}`;
  const [found, wanted] = [contentsOf(state, now), contentsOf(tables, now)];
  for (const id of new Set([...found.keys(), ...wanted.keys()])) {
    if (found.get(id) !== wanted.get(id)) return `${id} is ${found.get(id)} for ${wanted.get(id)}`;
  }
  return null;
}
