import type { Clock } from '../../base/clock.ts';
import { sumsOf, type UsageSink } from '../../feed/ports/usage-sink.ts';
import { listStatement, rowInsert, statement } from '../engine/statement.ts';
import type { Store } from '../store.ts';

const ADD_BATCH = statement<{ node: string; batch: string; now: number }, { batch: string }>(
  `insert into usage_batches (node, batch, added_at) values (:node, :batch, :now)
  on conflict (node, batch) do nothing returning batch`,
);

const addSums = rowInsert(
  'usage_hours',
  { namespace_id: 'text', hour: 'bigint', answers: 'bigint' },
  'on conflict (namespace_id, hour) do update set answers = usage_hours.answers + excluded.answers',
);

const FIND_NAMESPACES = listStatement<{ ids: readonly string[] }, { id: string }>(
  'select id from namespaces where id in (:ids)',
  'text',
);

/** Those of the namespaces that exist, closing ones too. */
export async function existingNamespaces(
  { read }: Pick<Store, 'read'>,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  return new Set((await FIND_NAMESPACES.all(read, { ids })).map(({ id }) => id));
}

/** Hourly sums in the database. The id of a batch is stored in the unit that adds its counts. */
export function usageSink({ write }: Pick<Store, 'write'>, clock: Clock): UsageSink {
  return {
    async add(batch) {
      const sums = sumsOf(batch);
      await write(async (tx) => {
        const { node, batch: id } = batch;
        if ((await ADD_BATCH.all(tx, { node, batch: id, now: clock() })).length === 0) return;
        // Each namespace and hour once: PostgreSQL refuses a row that one statement changes twice.
        await addSums(
          tx,
          sums.map(({ namespaceId, hour, answers }) => [namespaceId, hour, answers]),
        );
      });
    },
  };
}
