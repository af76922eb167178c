/** Takes destroyed keys out of the files of PostgreSQL: a deleted row stays on its page until something overwrites it. */
import { listStatement, statement } from './engine/statement.ts';
import { readFact } from './service-facts.ts';
import type { Store, Tx } from './store.ts';

const ENDED = statement<object, { id: number }>(
  'select id from histories where ended = 1 order by id limit 1000',
);
const HISTORIES_VACUUMED = listStatement<{ ids: readonly number[] }>(
  'update histories set ended = 2 where ended = 1 and id in (:ids)',
  'bigint',
);

const DESTROYED = statement<object, { times: string }>(
  `select d.value as times from service_facts as d left join service_facts as v on v.name = 'feed_keys_vacuumed'
  where d.name = 'feed_keys_destroyed' and d.value <> coalesce(v.value, '')`,
);
const FEED_VACUUMED = statement<{ times: string }>(
  `insert into service_facts (name, value) values ('feed_keys_vacuumed', :times)
  on conflict (name) do update set value = excluded.value`,
);

/**
 * Rewrites the tables from which keys were deleted since the last time, and notes that. Not in a unit.
 * @param vacuum rewrites a table: each has few rows
 */
export async function vacuumKeys(
  { read, write }: Pick<Store, 'read' | 'write'>,
  vacuum: (sql: string) => Promise<unknown>,
): Promise<void> {
  const epoch = await readFact(read, 'epoch');
  // Not of a standby that has taken the place of the database since: its tables are as they were.
  const note = (run: (tx: Tx) => Promise<unknown>): Promise<unknown> =>
    write(async (tx) => (await readFact(tx, 'epoch')) === epoch && run(tx));
  const feed = await DESTROYED.first(read, {});
  if (feed !== null) {
    await vacuum('vacuum (full) feed_keys');
    await note((tx) => FEED_VACUUMED.run(tx, feed));
  }
  const ended = await ENDED.all(read, {});
  if (ended.length > 0) {
    await vacuum('vacuum (full) history_keys');
    await note((tx) => HISTORIES_VACUUMED.run(tx, { ids: ended.map(({ id }) => id) }));
  }
}
