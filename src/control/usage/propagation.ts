import type { Actor } from '../../http/actor.ts';
import { badParameter, type QueryParameters, readParameters } from '../../protocol/input/query-parameters.ts';
import { arrayOf, resourceSchema } from '../../protocol/input/schema.ts';
import type { HasStore } from '../deps.ts';
import type { Positions } from '../unit.ts';

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

export interface HasNodes {
  /** The edge in this process, and the nodes of the feed as far as this process hears of them. */
  readonly nodes: () => readonly NodeProgress[];
  readonly positions: Positions;
}

type PropagationResource = Awaited<ReturnType<typeof readPropagation>>;

export const PROPAGATION_SCHEMA = resourceSchema<PropagationResource>('Propagation', {
  applied: { type: 'boolean', description: 'Whether every node that is not late has the write' },
  nodes: arrayOf(
    resourceSchema<PropagationResource['nodes'][number]>('NodePropagation', {
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
    description: 'Value of `X-Service-Seq` in the answer to a write',
    required: true,
  },
} as const;

/** @throws AppError 400 for anything but a position of this customer */
export async function readPropagation(
  { store, nodes, positions }: HasStore & HasNodes,
  { customerId }: Actor,
  query: QueryParameters,
) {
  const { seq: text } = readParameters(query, Object.keys(PROPAGATION_PARAMETERS));
  if (text === undefined) throw badParameter('seq', 'is required');
  const position = positions.read(customerId, text);
  if (position === null) throw badParameter('seq', 'is not a value of X-Service-Seq of this account');
  const { epoch } = await store.changes.bounds();
  const all = nodes().map((node) => {
    const applied = node.epoch === epoch && node.seq !== null && node.seq >= position.seq;
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
