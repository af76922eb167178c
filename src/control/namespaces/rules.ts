import { AppError, forbidden, invalid, namespaceSuspended, notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import { type Actor, reaches, requireOwner, requireReach, requireSession } from '../../http/actor.ts';
import type { KeptHistory } from '../../protocol/change.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { COUNT, resourceSchema, TIME, UUID } from '../../protocol/input/schema.ts';
import { integerOf, optional, required, shape } from '../../protocol/input/shape.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import { NAMESPACE_NAME_SCHEMA, namespaceNameFaults } from '../../protocol/names/namespace-name.ts';
import { type CustomersTable, findUserByEmail } from '../../store/accounts.ts';
import { appendChanges, type NewChange } from '../../store/log/change-log.ts';
import {
  countNamespaces,
  findNamespace,
  insertNamespace,
  listNamespaces,
  listNamespacesWithOwners,
  lockNamespace,
  type NamespaceFlags,
  type NamespaceRow,
  setNamespaceFlags,
  setNamespaceSettings,
} from '../../store/namespaces.ts';
import { findOwner } from '../../store/webhooks/fan-out.ts';
import { audit, audited, auditFor, BY_OPERATOR } from '../audit/actions.ts';
import type { HasClock, HasIds, HasStore, HasUnit } from '../deps.ts';
import { type HasHistoryKeys, switchHistory } from '../history/keep.ts';

type NamespaceResource = ReturnType<typeof namespaceResource>;

export interface HistoryResource {
  readonly versions: number;
  readonly days: number;
  readonly since: string;
}

const HISTORY_VERSIONS = {
  type: 'integer',
  minimum: 1,
  maximum: LIMITS.historyVersions,
  description: 'Versions of a record that are kept at most',
  examples: [20],
} as const;
const HISTORY_DAYS = {
  type: 'integer',
  minimum: 1,
  maximum: LIMITS.historyDays,
  description: 'Days that a version is kept at most after its end',
  examples: [90],
} as const;

export const HISTORY_SCHEMA = resourceSchema<HistoryResource>('History', {
  versions: HISTORY_VERSIONS,
  days: HISTORY_DAYS,
  since: TIME,
});

export const NAMESPACE_SCHEMA = resourceSchema<NamespaceResource>(
  'Namespace',
  {
    id: UUID,
    name: NAMESPACE_NAME_SCHEMA,
    records_count: COUNT,
    max_ttl: {
      type: 'integer',
      description:
        'The longest TTL of an open answer, in seconds: caches may show an old value for so long. Answers of a private namespace have TTL 0',
      examples: [LIMITS.openTtlDefault],
    },
    created_at: TIME,
    updated_at: TIME,
    history: HISTORY_SCHEMA,
    public_read: { const: true, description: 'Only while reads over DNS need no query token' },
    suspended: { const: true, description: 'Only while the operator has suspended the namespace' },
  },
  { public_read: true, suspended: true, history: true },
);

export const NEW_NAMESPACE = shape('NewNamespace', {
  name: required({
    schema: NAMESPACE_NAME_SCHEMA,
    read(fields, name) {
      const text = fields.text(name);
      const faults = text === undefined ? [] : namespaceNameFaults(text);
      for (const fault of faults) fields.fault(name, fault.replace(/^name /, ''));
      return faults.length === 0 ? text : undefined;
    },
  }),
});

const NEW_HISTORY = shape('NewHistory', {
  versions: required(integerOf(1, LIMITS.historyVersions, HISTORY_VERSIONS)),
  days: required(integerOf(1, LIMITS.historyDays, HISTORY_DAYS)),
});

export const NAMESPACE_PATCH = shape(
  'NamespacePatch',
  {
    max_ttl: optional(
      integerOf(1, LIMITS.openTtlMax, {
        description:
          'The longest TTL of an open answer, in seconds. A record that expires sooner has a shorter one. Caches may show an old value for so long after a write',
        examples: [3600],
      }),
    ),
    history: optional({
      schema: {
        anyOf: [NEW_HISTORY.schema, { type: 'null' }],
        description:
          'Keeps replaced and deleted values as versions; what exceeds either bound goes. null ends the history and erases it. Only for owners with a customer token',
      },
      read(fields, name) {
        if (fields.isNull(name)) return null;
        const object = fields.object(name);
        return (
          object && (NEW_HISTORY.readWhole(object, undefined, fields.faults, fields.label(name)) ?? undefined)
        );
      },
    }),
  },
  { atLeastOneOf: 'namespace', fixed: ['id', 'name'] },
);

function namespaceResource(row: NamespaceRow) {
  return {
    id: row.id,
    name: row.name,
    records_count: row.records_count,
    max_ttl: row.max_ttl,
    created_at: formatTime(row.created_at),
    updated_at: formatTime(row.updated_at),
    ...historyResource(keptHistory(row)),
    ...(row.public_read === 1 && { public_read: true as const }),
    ...(row.suspended === 1 && { suspended: true as const }),
  };
}

function keptHistory(row: NamespaceRow): KeptHistory | undefined {
  const { history_id, history_versions: versions, history_days: days, history_since: since } = row;
  return history_id === null ? undefined : { versions: versions ?? 0, days: days ?? 0, since: since ?? 0 };
}

/** The member of a namespace over REST and in events: none while no history is kept. */
export function historyResource(history: KeptHistory | undefined): { readonly history?: HistoryResource } {
  return history === undefined ? {} : { history: { ...history, since: formatTime(history.since) } };
}

function namespaceChange(row: NamespaceRow): NewChange {
  const history = keptHistory(row);
  return {
    type: 'namespace.upserted',
    owner: row.customer_id,
    cause: 'direct',
    namespace: row.name,
    id: row.id,
    publicRead: row.public_read === 1,
    suspended: row.suspended === 1,
    maxTtl: row.max_ttl,
    ...(history && { history }),
    recordsCount: row.records_count,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** @throws AppError 422 for an invalid or taken name, or too many namespaces; 403 for a namespace-scoped key */
export async function createNamespace(
  deps: HasUnit & HasClock & HasIds,
  actor: Actor,
  body: JsonObject,
): Promise<NamespaceResource> {
  // A namespace-scoped key could not use the namespace that it makes.
  if (actor.namespaces !== null) throw forbidden('API key is confined to namespaces and cannot create one');
  const { name } = NEW_NAMESPACE.parse(body, undefined);
  const now = deps.clock();
  return deps.unit(actor, async (tx) => {
    if ((await countNamespaces(tx, actor.customerId)) >= LIMITS.namespacesPerCustomer) {
      throw new AppError('quota_exceeded', 'Namespace limit of the account reached');
    }
    const row: NamespaceRow = {
      id: deps.newId(),
      name,
      customer_id: actor.customerId,
      public_read: 0,
      suspended: 0,
      closing: 0,
      max_ttl: LIMITS.openTtlDefault,
      history_id: null,
      history_versions: null,
      history_days: null,
      history_since: null,
      records_count: 0,
      created_at: now,
      updated_at: now,
    };
    if (!(await insertNamespace(tx, row))) throw invalid('name has already been taken');
    await audit(tx, actor, now, 'namespace.created', audited.namespace(row));
    await appendChanges(tx, [namespaceChange(row)], now);
    return namespaceResource(row);
  });
}

/** Namespaces that the credential may use, by name. */
export async function listOwnNamespaces(deps: HasStore, actor: Actor): Promise<NamespaceResource[]> {
  const rows = await listNamespaces(deps.store.read, actor.customerId);
  return rows.filter((row) => reaches(actor, row.name)).map(namespaceResource);
}

/** @throws AppError 404, or 403 outside the key's allowlist */
export async function getNamespace(deps: HasStore, actor: Actor, id: string): Promise<NamespaceResource> {
  return namespaceResource(await authorizeNamespace(deps, actor, id));
}

/** @throws AppError 422; 404; 403 outside the key's allowlist, for a suspended namespace, and for `history` of who is no owner */
export async function patchNamespace(
  deps: HasStore & HasUnit & HasClock & HasHistoryKeys,
  actor: Actor,
  id: string,
  body: JsonObject,
): Promise<NamespaceResource> {
  await authorizeNamespace(deps, actor, id);
  const { max_ttl, history } = NAMESPACE_PATCH.parse(body, undefined);
  // It weakens what a deletion promises.
  const requireRight = (by: Actor): void => {
    if (history === undefined) return;
    requireSession(by);
    requireOwner(by);
  };
  requireRight(actor);
  const now = deps.clock();
  return deps.unit(actor, async (tx, held) => {
    requireRight(held);
    const locked = await lockNamespace(tx, id, actor.customerId);
    if (locked === null) throw notFound('Namespace');
    requireNotSuspended(locked);
    const kept = history === undefined ? locked : await switchHistory(tx, deps, locked, history, now);
    const row = await setNamespaceSettings(tx, id, { ...kept, max_ttl: max_ttl ?? locked.max_ttl }, now);
    await audit(tx, actor, now, 'namespace.changed', audited.namespace(row));
    await appendChanges(tx, [namespaceChange(row)], now);
    return namespaceResource(row);
  });
}

/** A suspended name stays taken: its owner could end the suspension with a new namespace. @throws AppError 403 */
export function requireDeletable(actor: Actor, row: NamespaceRow): void {
  if (actor.namespaces !== null) throw forbidden('API key is confined to namespaces and cannot delete one');
  requireNotSuspended(row);
}

/** @throws AppError 403 */
export function requireNotSuspended({ suspended }: Pick<NamespaceRow, 'suspended'>): void {
  if (suspended === 1) throw namespaceSuspended();
}

/** @throws AppError 404, or 403 outside the key's allowlist */
export async function authorizeNamespace(
  { store }: HasStore,
  actor: Actor,
  id: string,
): Promise<NamespaceRow> {
  const row = await findNamespace(store.read, id, actor.customerId);
  if (row === null) throw notFound('Namespace');
  requireReach(actor, row.name);
  return row;
}

/** There is no actor: the operator is not a customer. */
type OperatorDeps = HasStore & HasClock;

/** @param on readable without a token. @throws AppError 404 */
export function setPublicRead(deps: OperatorDeps, name: string, on: boolean): Promise<NamespaceResource> {
  return setFlags(deps, 'operator.public_read', name, on, { public_read: on ? 1 : 0 });
}

/** @param on removed from DNS answers. @throws AppError 404 */
export function setSuspended(deps: OperatorDeps, name: string, on: boolean): Promise<NamespaceResource> {
  return setFlags(deps, 'operator.suspended', name, on, { suspended: on ? 1 : 0 });
}

interface NamespaceListing extends Omit<NamespaceResource, 'public_read' | 'suspended'> {
  /** Mail address of its customer. */
  readonly owner: string;
  readonly public_read: boolean;
  readonly suspended: boolean;
}

/** Namespaces of all customers, by name. */
export async function listAllNamespaces({ store }: HasStore): Promise<NamespaceListing[]> {
  const rows = await listNamespacesWithOwners(store.read);
  return rows.map((row) => ({
    ...namespaceResource(row),
    owner: row.email,
    public_read: row.public_read === 1,
    suspended: row.suspended === 1,
  }));
}

function setFlags(
  { store, clock }: OperatorDeps,
  action: 'operator.public_read' | 'operator.suspended',
  name: string,
  on: boolean,
  flags: NamespaceFlags,
): Promise<NamespaceResource> {
  const now = clock();
  return store.write(async (tx) => {
    const row = await setNamespaceFlags(tx, foldCase(name), flags, now);
    if (row === null) throw notFound('Namespace');
    await auditFor(tx, row.customer_id, BY_OPERATOR, now, action, audited.namespaceSwitch(row, on));
    await appendChanges(tx, [namespaceChange(row)], now);
    return namespaceResource(row);
  });
}

/** For work of the operator in the owner's name. Null when there is no such namespace. */
export async function findOwnerActor({ store }: HasStore, namespace: string): Promise<Actor | null> {
  const owner = await findOwner(store.read, foldCase(namespace));
  return owner === null ? null : actorFor(owner);
}

/** As `findOwnerActor`. @throws AppError 404 */
export async function ownerActor(deps: HasStore, namespace: string): Promise<Actor> {
  const owner = await findOwnerActor(deps, namespace);
  if (owner === null) throw notFound('Namespace');
  return owner;
}

/** Null when no account has this mail address. */
export async function customerActor({ store }: HasStore, email: string): Promise<Actor | null> {
  const user = await findUserByEmail(store.read, foldCase(email.trim()));
  return user === null ? null : actorFor(user);
}

function actorFor({ id, tier }: Pick<CustomersTable, 'id' | 'tier'>): Actor {
  return {
    customerId: id,
    personId: id,
    userId: null,
    sessionId: null,
    role: null,
    tier,
    via: 'session',
    apiKey: null,
    requestId: null,
    operations: new Set(['read', 'write']),
    namespaces: null,
  };
}
