/** Rows of the tables, as tests read and write them. */

import type {
  DatasetKeysTable,
  DatasetPartsTable,
  DatasetVersionsTable,
} from '../../../src/store/datasets/tables.ts';
import { statement } from '../../../src/store/engine/statement.ts';
import type {
  QueryLogBlocksTable,
  QueryLogCountsTable,
  QueryLogHeadTable,
  QueryLogSeriesTable,
} from '../../../src/store/query-log/tables.ts';
import type {
  ApiKeysTable,
  ChangeLogTable,
  CustomersTable,
  EventCountersTable,
  FeedCursorsTable,
  FeedHeadTable,
  FeedKeysTable,
  IdempotencyKeysTable,
  InvitationsTable,
  JwtKeysTable,
  KeySetsTable,
  MembershipsTable,
  NamespacesTable,
  PasskeysTable,
  QueryTokensTable,
  RateWindowsTable,
  RecordsTable,
  ServiceFactsTable,
  SessionsTable,
  SignInBrowsersTable,
  SignInCodesTable,
  UsageBatchesTable,
  UsageDeletedHoursTable,
  UsageHoursTable,
  UsedChallengesTable,
  UsersTable,
  WebhookDeliveriesTable,
  WebhooksTable,
} from '../../../src/store/schema.ts';
import type { Db, Tx } from '../../../src/store/store.ts';

interface Tables {
  customers: CustomersTable;
  users: UsersTable;
  memberships: MembershipsTable;
  sign_in_codes: SignInCodesTable;
  sign_in_browsers: SignInBrowsersTable;
  jwt_keys: JwtKeysTable;
  sessions: SessionsTable;
  api_keys: ApiKeysTable;
  namespaces: NamespacesTable;
  query_tokens: QueryTokensTable;
  records: RecordsTable;
  feed_head: FeedHeadTable;
  change_log: ChangeLogTable;
  rate_windows: RateWindowsTable;
  webhooks: WebhooksTable;
  webhook_deliveries: WebhookDeliveriesTable;
  feed_cursors: FeedCursorsTable;
  event_counters: EventCountersTable;
  idempotency_keys: IdempotencyKeysTable;
  service_facts: ServiceFactsTable;
  dnssec_key_sets: KeySetsTable;
  usage_hours: UsageHoursTable;
  usage_batches: UsageBatchesTable;
  passkeys: PasskeysTable;
  used_challenges: UsedChallengesTable;
  invitations: InvitationsTable;
  usage_deleted_hours: UsageDeletedHoursTable;
  query_log_blocks: QueryLogBlocksTable;
  query_log_head: QueryLogHeadTable;
  query_log_series: QueryLogSeriesTable;
  query_log_counts: QueryLogCountsTable;
  query_log_batches: UsageBatchesTable;
  dataset_versions: DatasetVersionsTable;
  dataset_parts: DatasetPartsTable;
  dataset_keys: DatasetKeysTable;
  feed_keys: FeedKeysTable;
}

type Table = keyof Tables;

interface Selection<T extends Table, C extends keyof Tables[T]> {
  /** The columns; all of them without it. */
  readonly columns?: readonly C[];
  /** Columns and their values. */
  readonly where?: Partial<Tables[T]>;
  /** SQL behind `order by`. */
  readonly order?: string;
}

/** Runs SQL text of any kind. @returns its rows */
export function query<R = never>(db: Db, text: string, parameters: object = {}): Promise<R[]> {
  return statement<object, R>(text).all(db, parameters);
}

export function findRows<T extends Table, C extends keyof Tables[T] = keyof Tables[T]>(
  db: Db,
  table: T,
  { columns, where = {}, order }: Selection<T, C> = {},
): Promise<Pick<Tables[T], C>[]> {
  const ordered = order === undefined ? '' : `order by ${order}`;
  return query(
    db,
    `select ${columns?.join(', ') ?? '*'} from ${table} ${conditions(where)} ${ordered}`,
    where,
  );
}

export async function firstRow<T extends Table, C extends keyof Tables[T] = keyof Tables[T]>(
  db: Db,
  table: T,
  selection: Selection<T, C> = {},
): Promise<Pick<Tables[T], C> | undefined> {
  return (await findRows(db, table, selection))[0];
}

/** The first row. Throws when there is none. */
export async function oneRow<T extends Table, C extends keyof Tables[T] = keyof Tables[T]>(
  db: Db,
  table: T,
  selection: Selection<T, C> = {},
): Promise<Pick<Tables[T], C>> {
  const row = await firstRow(db, table, selection);
  if (row === undefined) throw new Error(`no such row of ${table}`);
  return row;
}

/** Columns that are left out have what the table says. All rows have the same ones. */
export async function insertRows<T extends Table>(
  tx: Tx,
  table: T,
  given: Partial<Tables[T]> | readonly Partial<Tables[T]>[],
): Promise<void> {
  const list = [given].flat() as Partial<Tables[T]>[];
  const names = Object.keys(list[0] ?? {});
  const values = names.map((name) => `:${name}`);
  const insert = statement(`insert into ${table} (${names.join(', ')}) values (${values.join(', ')})`);
  for (const row of list) await insert.run(tx, row);
}

export async function updateRows<T extends Table>(
  tx: Tx,
  table: T,
  change: Partial<Tables[T]>,
  where: Partial<Tables[T]> = {},
): Promise<void> {
  const set = Object.keys(change).map((name) => `${name} = :set_${name}`);
  const values = Object.fromEntries(Object.entries(change).map(([name, value]) => [`set_${name}`, value]));
  await query(tx, `update ${table} set ${set.join(', ')} ${conditions(where)}`, { ...values, ...where });
}

export async function deleteRows<T extends Table>(
  tx: Tx,
  table: T,
  where: Partial<Tables[T]> = {},
): Promise<void> {
  await query(tx, `delete from ${table} ${conditions(where)}`, where);
}

function conditions(where: object): string {
  const names = Object.keys(where);
  return names.length === 0 ? '' : `where ${names.map((name) => `${name} = :${name}`).join(' and ')}`;
}
