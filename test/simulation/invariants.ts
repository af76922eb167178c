import type { MemoryState } from '../support/view/memory-view.ts';
import type { Database } from './database.ts';
import type { History } from './history.ts';

export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** What one node has served so far. It outlives the node's processes and its disk. */
export interface Witness {
  /** Compares what the view serves now with the log. @throws InvariantError */
  look(state: MemoryState): void;
}

/** The view as values by thing; as `History` has them. */
function contentsOf({ namespaces, tokens, records }: MemoryState): Map<string, string> {
  const contents = new Map<string, string>();
  for (const [name, { suspended }] of namespaces) {
    contents.set(`namespace ${name}`, suspended ? 'closing' : 'there');
  }
  for (const digest of tokens.keys()) contents.set(`token ${digest}`, 'there');
  for (const [key, { data }] of records) contents.set(`record ${key}`, textOf(data));
  return contents;
}

/** Views replace a payload and never change its octets, so each text is made once. */
const texts = new WeakMap<Uint8Array, string>();

function textOf(data: Uint8Array): string {
  const known = texts.get(data);
  if (known !== undefined) return known;
  const text = Buffer.from(data).toString('base64');
  texts.set(data, text);
  return text;
}

export function createWitness(name: string, database: Database): Witness {
  let epoch = '';
  /** The latest change that the node has ever applied, in this epoch. */
  let heard = 0;
  /** What was there, and the cursor then. */
  let served = new Map<string, number>();

  return {
    look(state) {
      if (state.cursor === null || state.epoch === null) return;
      if (state.epoch !== epoch) {
        epoch = state.epoch;
        heard = 0;
        served = new Map();
      }
      heard = Math.max(heard, state.cursor);
      const history = database.history(epoch);
      const contents = contentsOf(state);
      for (const [id, since] of served) {
        if (contents.has(id)) continue;
        if (!history.wasAway(id, since)) {
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

function wrong(name: string, id: string, history: History, { cursor }: MemoryState, heard: number): string {
  const isGone = history.last(id) === null;
  if (isGone && id.startsWith('token '))
    return `${name} honours a revoked token: ${id} at ${cursor}, heard ${heard}`;
  if (isGone) return `${name} serves what was erased: ${id} at ${cursor}, heard ${heard}`;
  return `${name} serves what the log does not have: ${id} at ${cursor}, heard ${heard}`;
}

/** @returns how the view differs from the database, or null */
export function difference(state: MemoryState, database: Database): string | null {
  if (state.epoch !== database.epoch) return `epoch ${state.epoch} for ${database.epoch}`;
  if (state.cursor !== database.head) return `cursor ${state.cursor} for ${database.head}`;
  const contents = contentsOf(state);
  const history = database.history();
  for (const id of new Set([...history.ids(), ...contents.keys()])) {
    const wanted = history.last(id);
    const found = contents.get(id) ?? null;
    if (wanted !== found) return `${id} is ${found} for ${wanted}`;
  }
  return null;
}
