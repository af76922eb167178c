/** What the database holds and held, read past all faults: what every view is compared with. */
import { LIMITS } from '../../src/base/limits.ts';
import type { ChangeBody } from '../../src/protocol/change.ts';
import { contentFormat, FORMATS } from '../../src/protocol/query/envelope.ts';
import { createMemoryView, type MemoryState } from '../support/view/memory-view.ts';
import type { Database } from './database.ts';
import { editionWith, versionText } from './datasets/editions.ts';
import {
  answerParts,
  createHistory,
  type History,
  LOG_HEAD,
  openness,
  proofName,
  versionName,
} from './history.ts';
import type { ServedVersion } from './model/datasets.ts';
import type { Answers } from './model/usage.ts';

export interface Truth {
  /** Reads what was committed since the last call. Without it the histories are behind. */
  catchUp(): Promise<void>;
  readonly epoch: string;
  readonly head: number;
  /** When the last change was made, by the clock of who made it, but not after it was seen. */
  readonly changedAt: number;
  /** The first change that the log still has, or had after it was pruned and before a backup was put back. */
  readonly oldest: number;
  /** What was true after each change of a database that is or was. */
  history(epoch: string): History;
  /** The view that a node would build from the tables now. */
  tables(): Promise<MemoryState>;
  /** Private answers, by namespace. */
  answers(): Promise<ReadonlyMap<string, number>>;
  /** Private answers, by mail address: what each customer may be told. */
  used(): Promise<ReadonlyMap<string, Answers>>;
  /** Versions of datasets that are served. */
  versions(): Promise<readonly ServedVersion[]>;
  /** Namespaces and customers whose number of records is not what they have. */
  miscounted(): Promise<readonly string[]>;
  /** Accounts and namespaces whose deletion has not ended. */
  closing(): Promise<number>;
  /** Deliveries that have not ended. */
  waiting(): Promise<number>;
  /** Tables with rows of accounts, namespaces or histories that are gone. */
  orphaned(): Promise<readonly string[]>;
}

/** While a namespace is being deleted its records go in several units. */
const MISCOUNTED = `select name from namespaces where closing = 0
    and records_count <> (select count(*) from records where namespace_id = namespaces.id)
  union all select 'a customer' from customers
    where not exists (select 1 from namespaces where customer_id = customers.id and closing <> 0)
    and records_count <> (select count(*) from records
      join namespaces on namespaces.id = records.namespace_id where namespaces.customer_id = customers.id)`;

/** A namespace that is being deleted shows nothing until its answers are with those of deleted ones. */
const USED = `select users.email, namespaces.name, sum(usage_hours.answers) as answers from usage_hours
    join namespaces on namespaces.id = usage_hours.namespace_id and namespaces.closing = 0
    join users on users.id = namespaces.customer_id group by 1, 2
  union all select users.email, null, sum(answers) from usage_deleted_hours
    join users on users.id = usage_deleted_hours.customer_id group by 1`;

const CLOSING = `select (select count(*) from customers where closing = 1)
    + (select count(*) from namespaces where closing <> 0) as count`;

const WAITING = `select count(*) as count from webhook_deliveries where status = 'pending'`;

/**
 * Rows that no reference of the database ties to what they are of. Hours of usage may be of a namespace that was deleted while its batch was
 * being added: they hold its id and numbers. Histories that have ended go later than their namespaces.
 */
const ORPHANED = `select 'audit_log' as name from audit_log where customer_id not in (select id from customers)
  union select 'histories' from histories where ended = 0 and namespace_id not in (select id from namespaces)
  union select 'record_versions' from record_versions where history_id not in (select id from histories)
  union select 'history_keys' from history_keys where history_id not in (select id from histories where ended = 0)`;

const SERVED = `select version, json_extract(manifest, '$.sha256') as sha256 from dataset_versions
  where state = 'served'`;

interface UsedRow {
  readonly email: string;
  readonly name: string | null;
  readonly answers: number;
}

export function createTruth(database: Database, now: () => number): Truth {
  const histories = new Map<string, History>();
  const versionNames: Versions = new Map();
  let bounds = { epoch: '', head: 0, oldest: 1 };
  let oldest = 1;
  let changedAt = 0;

  function history(epoch: string): History {
    const known = histories.get(epoch);
    if (known !== undefined) return known;
    // After a restored backup: the log goes on from there.
    const { origin } = database;
    const made = (origin && histories.get(origin.epoch)?.upTo(origin.seq)) ?? createHistory();
    histories.set(epoch, made);
    return made;
  }

  async function counted(sql: string): Promise<number> {
    const { rows } = await database.truth.read.execute<{ count: number }>(sql, []);
    return rows[0]!.count;
  }

  return {
    get epoch() {
      return bounds.epoch;
    },
    get head() {
      return bounds.head;
    },
    get changedAt() {
      return changedAt;
    },
    get oldest() {
      return oldest;
    },
    async catchUp() {
      const found = await database.truth.changes.bounds();
      const of = history(found.epoch);
      bounds = found;
      oldest = Math.max(oldest, found.oldest);
      for (const change of await database.take()) {
        note(of, versionNames, change, change.seq);
        changedAt = Math.min(change.at, now());
      }
    },
    history,
    async tables() {
      const { epoch, seq, pages } = await database.truth.changes.openSnapshot();
      const view = createMemoryView();
      const rebuild = await view.rebuild();
      for await (const page of pages) await rebuild.load(page);
      await rebuild.finish([], seq, epoch);
      return view.state;
    },
    async miscounted() {
      const { rows } = await database.truth.read.execute<{ name: string }>(MISCOUNTED, []);
      return rows.map(({ name }) => name);
    },
    closing: () => counted(CLOSING),
    waiting: () => counted(WAITING),
    async orphaned() {
      const { rows } = await database.truth.read.execute<{ name: string }>(ORPHANED, []);
      return rows.map(({ name }) => name);
    },
    async versions() {
      const { rows } = await database.truth.read.execute<ServedVersion>(SERVED, []);
      return rows;
    },
    async used() {
      const { rows } = await database.truth.read.execute<UsedRow>(USED, []);
      const byMail = Map.groupBy(rows, ({ email }) => email);
      return new Map(
        [...byMail].map(([email, parts]): [string, Answers] => [
          email,
          {
            byName: new Map(parts.flatMap(({ name, answers }) => (name === null ? [] : [[name, answers]]))),
            total: parts.reduce((sum, { answers }) => sum + answers, 0),
          },
        ]),
      );
    },
    async answers() {
      const { rows } = await database.truth.read.execute<{ id: string; answers: number }>(
        'select namespace_id as id, sum(answers) as answers from usage_hours group by namespace_id',
        [],
      );
      return new Map(rows.map(({ id, answers }) => [id, answers]));
    },
  };
}

/** Published versions by their ids, of all databases. */
type Versions = Map<string, Named>;
type Named = Parameters<typeof versionName>[0];

function note(history: History, versions: Versions, body: ChangeBody, seq: number): void {
  if (body.type === 'dataset.published') versions.set(body.versionId, body.manifest);
  const named = 'versionId' in body ? versions.get(body.versionId) : undefined;
  if (body.type === 'dataset.withdrawn' && named !== undefined) history.put(proofName(named), seq, null);
  const id = thingOf(body, named);
  if (id === null) return;
  // Which payload it was, nobody can know any more.
  if (body.type === 'record.upserted' && body.data === null) {
    history.putErased(id, seq);
    return;
  }
  history.put(id, seq, contentOf(body));
  if (id.startsWith('record ')) history.erase(id);
  if (body.type !== 'namespace.deleted') return;
  for (const token of history.ids()) {
    if (token.startsWith(`token ${body.namespace} `)) history.put(token, seq, null);
  }
}

/** What a change is about; null: nothing that a view holds. @param named the version that it names by its id */
function thingOf(body: ChangeBody, named: Named | undefined): string | null {
  if ('key' in body) return `record ${body.key}`;
  if ('digest' in body) return `token ${body.namespace} ${body.digest}`;
  if (body.type === 'log.checkpoint') return LOG_HEAD;
  if (named !== undefined && body.type === 'log.proof') return proofName(named);
  if (named !== undefined && body.type !== 'dataset.items') return versionName(named);
  return body.type.startsWith('namespace.') ? `namespace ${body.namespace}` : null;
}

function fieldsOf({
  contentType,
  encoding,
  ttlSeconds,
  expiresAt,
}: Extract<ChangeBody, { type: 'record.upserted' }>) {
  const format = contentFormat(contentType, FORMATS);
  return { plain: encoding === 'plain', format, ttlSeconds, expiresAt };
}

function contentOf(body: ChangeBody): string | null {
  switch (body.type) {
    case 'record.upserted':
      return body.data === null ? null : answerParts(fieldsOf(body), body.data);
    case 'dataset.published': {
      const { sha256 } = body.manifest;
      return versionText(body.manifest, editionWith(sha256)?.windows);
    }
    case 'log.proof':
      return body.proof;
    case 'log.checkpoint':
      return body.checkpoint;
    case 'token.minted':
      return `until ${body.expiresAt}`;
    case 'namespace.upserted':
      return body.suspended ? 'closing' : openness(body.publicRead, body.maxTtl ?? LIMITS.openTtlDefault);
    case 'namespace.closing':
      return 'closing';
    default:
      return null;
  }
}
