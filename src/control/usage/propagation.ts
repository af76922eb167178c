/** Which DNS nodes have a write, and waiting until all have it. */
import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import { badParameter, type QueryParameters, readParameters } from '../../protocol/input/query-parameters.ts';
import { arrayOf, resourceSchema } from '../../protocol/input/schema.ts';
import type { HasStore } from '../deps.ts';
import { readWait, waitParameter } from '../live/waits.ts';
import { epochTag, type Position, type Positions } from '../unit.ts';

/** How far one node is. */
export interface NodeProgress {
  readonly name: string;
  /** Last change in its view, and the database that the view is of; null: not known. */
  readonly seq: number | null;
  readonly epoch: string | null;
  /** It has not been heard of for 15 seconds. */
  readonly isLate: boolean;
  /** When its view got a change, milliseconds since the epoch; null: not known. */
  appliedAt(seq: number): number | null;
}

/** The edge in this process, and the nodes of the feed as far as this process hears of them. */
export interface Nodes {
  list(): readonly NodeProgress[];
  /** @param listener called when one may be further. @returns stops */
  onMoved(listener: () => void): () => void;
}

export interface HasNodes {
  readonly nodes: Nodes;
  readonly positions: Positions;
}

interface NodePropagation {
  readonly name: string;
  readonly applied: boolean;
  readonly ms: number | null;
  readonly late: boolean;
}

interface PropagationResource {
  readonly applied: boolean;
  readonly nodes: readonly NodePropagation[];
}

export const PROPAGATION_SCHEMA = resourceSchema<PropagationResource>('Propagation', {
  applied: { type: 'boolean', description: 'Whether every node that is not late has the write' },
  nodes: arrayOf(
    resourceSchema<NodePropagation>('NodePropagation', {
      name: { type: 'string', examples: ['fra1'] },
      applied: { type: 'boolean', description: 'Whether its answers show the write' },
      ms: {
        type: ['integer', 'null'],
        minimum: 0,
        description: 'From the begin of the write until the node had it; null: not known',
        examples: [31],
      },
      late: { type: 'boolean', description: 'The node has not told how it is for 15 seconds' },
    }),
    { description: 'Empty: no node is known to this process' },
  ),
});

export const PROPAGATION_PARAMETERS = {
  seq: {
    schema: { type: 'string', examples: ['AW9wYXF1ZQ'] },
    description: 'Value of `X-Service-Seq` in the answer to a write, or a cursor of `GET /changes`',
    required: true,
  },
  wait: waitParameter(
    LIMITS.propagationWaitS,
    'Seconds to wait until every node that is not late has the write',
  ),
} as const;

interface PropagationQuery {
  readonly position: Position;
  readonly waitMs: number;
}

/** @throws AppError 400 for anything but a position of this customer, and a wait within its bound */
export function readPropagationQuery(
  positions: Positions,
  { customerId }: Actor,
  query: QueryParameters,
): PropagationQuery {
  const { seq: text, wait } = readParameters(query, Object.keys(PROPAGATION_PARAMETERS));
  if (text === undefined) throw badParameter('seq', 'is required');
  const position = positions.read(customerId, text);
  if (position === null) throw badParameter('seq', 'is not a value of X-Service-Seq of this account');
  return { position, waitMs: readWait(wait, LIMITS.propagationWaitS) };
}

export interface Propagation {
  /** Where a write is now. */
  read(position: Position): Promise<PropagationResource>;
  /** Where it is when every node that is not late has it, or the signal aborts. */
  until(position: Position, signal: AbortSignal): Promise<PropagationResource>;
}

export function openPropagation({
  store,
  nodes,
  timers,
}: HasStore & HasNodes & { readonly timers: Timers }): Propagation {
  const next = nextLook(nodes, timers);
  return {
    async read(position) {
      const { epoch } = await store.changes.bounds();
      return whereIs(position, epoch, nodes.list());
    },
    async until(position, signal) {
      const { epoch } = await store.changes.bounds();
      let list = nodes.list();
      // Most looks find a node that lacks it: they must not cost a description of every node.
      const isOther = isOfOther(position, epoch);
      const lacks = (node: NodeProgress): boolean => !node.isLate && (isOther || !has(node, position, epoch));
      while (!signal.aborted && (list.some(lacks) || list.every(({ isLate }) => isLate)))
        list = await next(signal);
      return whereIs(position, epoch, list);
    },
  };
}

function isOfOther(position: Position, epoch: string): boolean {
  return position.epoch !== '' && position.epoch !== epochTag(epoch);
}

/** Whether the view of a node has what was written before the position. @param epoch of the store */
function has(node: NodeProgress, { seq }: Position, epoch: string): boolean {
  return node.epoch === epoch && node.seq !== null && node.seq >= seq;
}

/** @param epoch of the store */
function whereIs(position: Position, epoch: string, list: readonly NodeProgress[]): PropagationResource {
  const isOther = isOfOther(position, epoch);
  const all = list.map((node) => {
    const applied = !isOther && has(node, position, epoch);
    const at = applied ? node.appliedAt(position.seq) : null;
    return {
      name: node.name,
      applied,
      ms: at === null ? null : Math.max(0, at - position.at),
      late: node.isLate,
    };
  });
  const heard = all.filter(({ late }) => !late);
  return { applied: heard.length > 0 && heard.every(({ applied }) => applied), nodes: all };
}

/** Milliseconds in which moves are gathered: the nodes are listed once for all that wait. */
const GATHER_MS = 10;
/** Milliseconds after which nodes are looked at although none has moved: one may be late by now. */
const LOOK_MS = 1_000;

type List = readonly NodeProgress[];

/** @returns resolves with the nodes after one has moved, after a second, and when the signal aborts */
function nextLook(nodes: Nodes, timers: Timers): (signal: AbortSignal) => Promise<List> {
  const waiting = new Set<(found: List) => void>();
  let isDue = false;
  let stopListening = (): void => {};

  function look(): void {
    isDue = false;
    const found = nodes.list();
    for (const resolve of [...waiting]) resolve(found);
  }

  function listen(): void {
    stopListening = nodes.onMoved(() => {
      if (isDue) return;
      isDue = true;
      timers.after(GATHER_MS, look);
    });
  }

  return (signal) =>
    new Promise((resolve) => {
      const onEnd = (): void => end(nodes.list());
      const cancel = timers.after(LOOK_MS, onEnd);
      function end(found: List): void {
        cancel();
        signal.removeEventListener('abort', onEnd);
        waiting.delete(end);
        if (waiting.size === 0) stopListening();
        resolve(found);
      }
      if (waiting.size === 0) listen();
      waiting.add(end);
      signal.addEventListener('abort', onEnd, { once: true });
      if (signal.aborted) onEnd();
    });
}
