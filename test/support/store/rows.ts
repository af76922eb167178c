/** Rows of the tables, as tests read and write them. */

import type {
  CustomersTable,
  MembershipsTable,
  SessionRow,
  UsersTable,
} from '../../../src/store/accounts.ts';
import type { ApiKeyRow } from '../../../src/store/api-keys.ts';
import type { AuditRow } from '../../../src/store/audit.ts';
import type { DatasetPartsTable, KeyRow, VersionRow } from '../../../src/store/datasets.ts';
import type { IdempotencyKeysTable } from '../../../src/store/idempotency-keys.ts';
import type { ChangeLogTable, FeedHeadTable } from '../../../src/store/log/change-log.ts';
import type { NamespaceRow } from '../../../src/store/namespaces.ts';
import type { InvitationRow } from '../../../src/store/organizations.ts';
import type { PasskeyRow, UsedChallengesTable } from '../../../src/store/passkeys.ts';
import type {
  QueryLogBlocksTable,
  QueryLogCountsTable,
  QueryLogHeadTable,
  QueryLogSeriesTable,
  QueryLogSplitsTable,
} from '../../../src/store/query-log/tables.ts';
import type { QueryTokenRow } from '../../../src/store/query-tokens.ts';
import type { RateWindowsTable } from '../../../src/store/rate-limits.ts';
import type { RecordsTable } from '../../../src/store/records.ts';
import type { FeedKeysTable, KeySetsTable } from '../../../src/store/server-keys.ts';
import type { ServiceFactsTable } from '../../../src/store/service-facts.ts';
import type { JwtKeysTable, SignInBrowsersTable, SignInCodesTable } from '../../../src/store/sign-in.ts';
import type { Db, Tx } from '../../../src/store/store.ts';
import type { LogCheckpoint, LogEntry, LogHead, TileRoot } from '../../../src/store/transparency.ts';
import type { UsageBatchesTable, UsageDeletedHoursTable, UsageHoursTable } from '../../../src/store/usage.ts';
import type { WebhookDeliveriesTable } from '../../../src/store/webhooks/deliveries.ts';
import type { EventCountersTable, FeedCursorsTable } from '../../../src/store/webhooks/fan-out.ts';
import type { WebhookRow } from '../../../src/store/webhooks/webhooks.ts';

interface Tables {
  audit_log: AuditRow;
  customers: CustomersTable;
  users: UsersTable;
  memberships: MembershipsTable;
  sign_in_codes: SignInCodesTable;
  sign_in_browsers: SignInBrowsersTable;
  jwt_keys: JwtKeysTable;
  sessions: SessionRow;
  api_keys: ApiKeyRow;
  namespaces: NamespaceRow;
  query_tokens: QueryTokenRow;
  records: RecordsTable;
  feed_head: FeedHeadTable;
  change_log: ChangeLogTable;
  rate_windows: RateWindowsTable;
  webhooks: WebhookRow;
  webhook_deliveries: WebhookDeliveriesTable;
  feed_cursors: FeedCursorsTable;
  event_counters: EventCountersTable;
  idempotency_keys: IdempotencyKeysTable;
  service_facts: ServiceFactsTable;
  dnssec_key_sets: KeySetsTable;
  usage_hours: UsageHoursTable;
  usage_batches: UsageBatchesTable;
  passkeys: PasskeyRow;
  used_challenges: UsedChallengesTable;
  invitations: InvitationRow;
  usage_deleted_hours: UsageDeletedHoursTable;
  query_log_blocks: QueryLogBlocksTable;
  query_log_head: QueryLogHeadTable;
  query_log_series: QueryLogSeriesTable;
  query_log_splits: QueryLogSplitsTable;
  query_log_counts: QueryLogCountsTable;
  query_log_batches: UsageBatchesTable;
  dataset_versions: VersionRow;
  dataset_parts: DatasetPartsTable;
  dataset_keys: KeyRow;
  feed_keys: FeedKeysTable;
  log_head: LogHead;
  log_entries: LogEntry & { readonly proof: string | null };
  log_tiles: TileRoot;
  log_checkpoints: LogCheckpoint;
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

/** Runs SQL text of any kind, which is no statement of the store's. @returns its rows */
export async function query<R = never>(db: Db, text: string, parameters: object = {}): Promise<R[]> {
  const names: string[] = [];
  const sql = text.replace(/:([a-z_]+)/gi, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `${db.engine === 'postgres' ? '$' : '?'}${names.indexOf(name) + 1}`;
  });
  const values = names.map((name) => (parameters as Readonly<Record<string, unknown>>)[name]);
  return (await db.execute<R>(sql, values)).rows;
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
  const text = `insert into ${table} (${names.join(', ')}) values (${values.join(', ')})`;
  for (const row of list) await query(tx, text, row);
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
