import type { Config } from '../../config/config.ts';
import type { Actor } from '../../control/accounts/actor.ts';
import { createUser } from '../../control/accounts/users.ts';
import { createNamespace } from '../../control/namespaces/namespaces.ts';
import { setPublicRead } from '../../control/namespaces/operator.ts';
import { customerActor, ownerActor } from '../../control/namespaces/owner.ts';
import { parseBulk, writeBulk } from '../../control/records/bulk.ts';
import { findNamespacesByName } from '../../control/store/tables/namespaces.ts';
import { findOwner } from '../../control/store/webhooks/owners.ts';
import type { Clock } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/input/fields.ts';
import { LIMITS } from '../../core/limits.ts';
import { namespaceNameFault } from '../../core/names/namespace-name.ts';
import { reachable } from '../address.ts';
import { type CliContext, withStore } from '../context.ts';
import { InputError, print, UsageError } from '../output.ts';

export interface PutOptions {
  /** Media type of the value. */
  readonly type: string;
  /** Seconds, as text. */
  readonly ttl?: string;
  /** Seconds until the record is erased, as text. */
  readonly expiresIn?: string;
  /** ISO 8601. */
  readonly expiresAt?: string;
  /** Mail address of the account that owns the namespace. Account and namespace are made where they are missing. */
  readonly user?: string;
  /** Let everyone read the namespace without a token. */
  readonly publicRead?: boolean;
}

type Deps = CliContext['deps'];

/** `records[0].key is ...` and `delete[0] is ...`: the form in which a bulk write names its items. */
const ITEM = /^(?:records\[0\]\.|delete\[0\])/;

/**
 * Stores text as a record, or replaces the record with this key, by the rules of the REST API.
 * @param value the text; `-` reads standard input
 * @throws InputError for a value, key or account that the rules refuse; nothing is written then
 */
export async function putRecord(
  clock: Clock,
  key: string,
  value: string,
  options: PutOptions,
  json: boolean,
): Promise<void> {
  const data = value === '-' ? await readInput() : Buffer.from(value);
  const body = { records: [recordBody(key, data, options)] };
  const { user } = options;
  const run = async ({ deps, config }: CliContext): Promise<void> => {
    const written = await plain(async () => {
      // All that can be known without the database, before an account is made.
      const [record] = parseBulk(body, { now: clock(), zoneLength: deps.zoneLength }).records;
      const { key: name, namespace } = record!;
      const owner =
        user === undefined ? await knownOwner(deps, namespace) : await makeOwner(deps, namespace, user);
      const { records } = await writeBulk(deps, owner, body);
      if (options.publicRead === true) await setPublicRead(deps, namespace, true);
      const row = (await findNamespacesByName(deps.store.read, [namespace], owner.customerId)).get(namespace);
      return { id: records[0]!.id, key: name, bytes: data.length, public_read: row?.public_read === 1 };
    });
    print(json ? JSON.stringify(written) : describe(written, config));
  };
  await withStore(clock, run, { mayCreate: user !== undefined });
}

interface Written {
  readonly key: string;
  readonly bytes: number;
  readonly public_read: boolean;
}

/** What was stored, and the command that reads it over DNS. */
function describe({ key, bytes, public_read: isPublic }: Written, { host, dnsPort, zones }: Config): string {
  const name = `${isPublic ? 'get' : 'get.auth-TOKEN'}.${key}.${zones[0]}`;
  return [
    `${key}: ${bytes} bytes stored`,
    `  dig @${reachable(host)} -p ${dnsPort} TXT ${name} +short`,
    ...(isPublic
      ? []
      : [
          '  TOKEN is a query token of the namespace (docs/API.md). --public-read opens the namespace to everyone.',
        ]),
  ].join('\n');
}

/** Deletes a record by its key. @throws InputError when there is none */
export async function deleteRecordByKey(clock: Clock, key: string, json: boolean): Promise<void> {
  await withStore(clock, async ({ deps }) => {
    const id = await plain(async () => {
      const body = { delete: [key] };
      const [record] = parseBulk(body, { now: clock(), zoneLength: deps.zoneLength }).delete;
      const owner = await ownerActor(deps, record!.namespace);
      return (await writeBulk(deps, owner, body)).deleted[0] ?? null;
    });
    if (id === null) throw new InputError(`there is no record ${key}`);
    print(json ? JSON.stringify({ id, key, deleted: true }) : `${key} deleted`);
  });
}

function recordBody(key: string, data: Buffer, options: PutOptions): JsonObject {
  const { type, ttl, expiresIn, expiresAt } = options;
  return {
    key,
    data: data.toString('base64'),
    content_type: type,
    ...(ttl !== undefined && { ttl_seconds: seconds('--ttl', ttl) }),
    ...(expiresIn !== undefined && { expires_in: seconds('--expires-in', expiresIn) }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  };
}

function seconds(option: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`${option} takes a whole number of seconds`);
  return Number(text);
}

async function knownOwner(deps: Deps, namespace: string): Promise<Actor> {
  if ((await findOwner(deps.store.read, namespace)) === null) {
    throw new InputError(
      `the namespace ${namespace} does not exist. Add --user EMAIL to make it for that account.`,
    );
  }
  return ownerActor(deps, namespace);
}

/** The account as an actor; it and the namespace are made where they are missing. */
async function makeOwner(deps: Deps, namespace: string, email: string): Promise<Actor> {
  const owner = await findOwner(deps.store.read, namespace);
  const known = await customerActor(deps, email);
  if (owner !== null) {
    if (owner.id !== known?.customerId) {
      throw new InputError(`the namespace ${namespace} belongs to another account than ${email}`);
    }
    return known;
  }
  const fault = namespaceNameFault(namespace);
  if (fault !== null) throw new InputError(`the namespace ${namespace} cannot be made: ${fault}`);
  if (known === null) await createUser(deps, email, 'free');
  const actor = known ?? (await customerActor(deps, email))!;
  await createNamespace(deps, actor, { name: namespace });
  return actor;
}

/** Runs a write whose faults name one record, not an item of a list. */
async function plain<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new InputError(
      error.messages
        .map((text) => text.replace(ITEM, (item) => (item.endsWith('.') ? '' : 'key')))
        .join('\n'),
    );
  }
}

/** Standard input up to one byte more than a record holds: enough for the rules to refuse it. */
async function readInput(): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of process.stdin as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > LIMITS.recordData) break;
  }
  return Buffer.concat(parts).subarray(0, LIMITS.recordData + 1);
}
