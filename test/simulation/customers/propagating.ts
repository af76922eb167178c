import type { Write } from '../model/register.ts';
import { ModelError } from '../model/told.ts';
import type { Random } from '../random.ts';
import type { Clients } from './clients.ts';
import type { Customer } from './customer.ts';

interface Propagating {
  /** Writes a record, and asks which nodes have it. */
  one(customer: Customer, record: object): Promise<void>;
  /** With nothing that fails every node has it in time. @throws ModelError */
  everywhere(customer: Customer, record: object): Promise<void>;
}

/** Seconds to wait until all nodes have it. */
const WAITS_S = [0, 0, 2, 10];
/** Nodes tell how they are every few seconds, and at once when they have changes. */
const EVERYWHERE_S = 10;

interface Progress {
  readonly applied: boolean;
  readonly nodes: readonly { readonly name: string; readonly applied: boolean }[];
}

/** @param onApplied control has told that a node answers by this write */
export function createPropagating(
  clients: Clients,
  random: Random,
  onApplied: (node: string, write: Write<unknown>) => void,
): Propagating {
  /** @returns null: the write or the question was refused, or has no answer */
  async function ask(customer: Customer, record: object, waitS: number): Promise<Progress | null> {
    const { account, token } = customer;
    const by = { account, credential: 'session' };
    const written = await clients.ask({ ...by, method: 'POST', path: '/records', body: { record } }, token);
    const seq = written.answer?.headers['x-service-seq'];
    if (typeof seq !== 'string') return null;
    const path = `/propagation?seq=${seq}&wait=${waitS}`;
    const { answer } = await clients.ask({ ...by, method: 'GET', path }, token);
    if (answer?.status !== 200) return null;
    const progress: Progress = answer.body;
    for (const { name, applied } of progress.nodes)
      if (applied) onApplied(name, written.pending.writes[0]!.write);
    return progress;
  }

  return {
    async one(customer, record) {
      await ask(customer, record, random.pick(WAITS_S));
    },
    async everywhere(customer, record) {
      const progress = await ask(customer, record, EVERYWHERE_S);
      if (progress?.applied === false)
        throw new ModelError(
          `/propagation: not everywhere after ${EVERYWHERE_S} s: ${JSON.stringify(progress)}`,
        );
    },
  };
}
