import type { NodePropagation } from '../../../sdk/src/uqrp-sdk.ts';
import { AppError, InputError, UsageError } from '../../base/errors.ts';
import type { Clock } from '../../base/time.ts';
import { createUser } from '../../control/accounts/rules.ts';
import {
  createNamespace,
  customerActor,
  findOwnerActor,
  listOwnNamespaces,
  ownerActor,
  setPublicRead,
} from '../../control/namespaces/rules.ts';
import { writeBulk } from '../../control/records/bulk.ts';
import { parseBulk } from '../../control/records/bulk-shapes.ts';
import type { Config } from '../../ops/config/config.ts';
import { readEnvironment } from '../../ops/config/env.ts';
import { lacksServer } from '../../process/use-case-deps.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { namespaceNameFaults } from '../../protocol/names/namespace-name.ts';
import { reachable } from '../address.ts';
import { type CliContext, commandConfig, withStore } from '../context.ts';
import { ofFile, readSecretFile } from '../key-files.ts';
import { escapeControls, print } from '../output.ts';
import { openRest, type Rest } from '../rest.ts';
import { aboutOneItem, type PutOptions, putData, putFields, waitSeconds } from './put-input.ts';

type Deps = CliContext['deps'];

/** What a server of an earlier release says, which answers everything in Base64. */
const NO_ENCODING = 'encoding is not a known field';

/**
 * Stores text or a file as a record, or replaces the record with this key, by the rules of the REST API: over REST with
 * UQRP_TOKEN, else in the store. An option that only the store has (an account, --public-read) wins over the variable.
 * @param value the text; `-` reads standard input; undefined with --file
 * @throws InputError for a value, key, account or token that is refused; nothing is written then
 */
export async function putRecord(
  clock: Clock,
  key: string,
  value: string | undefined,
  options: PutOptions,
  json: boolean,
): Promise<void> {
  const data = await protectedData(key, await putData(value, options), options);
  const record = putFields(data, options);
  const body = { records: [{ key, ...record }] };
  const token = readEnvironment().UQRP_TOKEN ?? '';
  const isLocal = (options.user ?? options.as ?? options.publicRead) !== undefined;
  if (options.api !== undefined && (isLocal || token === '')) {
    throw new UsageError('--api needs UQRP_TOKEN, and neither --as, --user nor --public-read');
  }
  const wait = waitSeconds(options.wait);
  if (wait !== null && (isLocal || token === '')) {
    throw new UsageError('--wait needs UQRP_TOKEN, and neither --as, --user nor --public-read');
  }
  if (isLocal || token === '') return await putLocally(clock, body, data.length, options, json);
  const rest = openRest(options.api, commandConfig(), token);
  let seq: string | null = null;
  const onWritten = (place: string): void => {
    seq = place;
  };
  const write = (fields: typeof record) => rest.write((api) => api.records.put(key, fields, { onWritten }));
  const { id, key: name } = await write(record).catch((error: unknown) => {
    const isOlder = error instanceof InputError && error.message === NO_ENCODING;
    if (!isOlder || options.plain === true) throw error;
    const { encoding: _, ...older } = record;
    return write(older);
  });
  const stored = { id, key: name, bytes: data.length };
  if (wait === null) return print(json ? JSON.stringify(stored) : storedLine(stored));
  if (!json) print(storedLine(stored));
  const nodes = await untilOnNodes(rest, seq, wait).catch((error: unknown) => {
    throw error instanceof InputError
      ? new InputError(`stored, but not known on which nodes: ${error.message}`)
      : error;
  });
  if (json) print(JSON.stringify({ ...stored, nodes }));
  tellNodes(nodes, json);
}

/** The octets to store: encrypted and signed, where the options say so. @throws InputError */
async function protectedData(key: string, data: Buffer, { encrypt, sign }: PutOptions): Promise<Buffer> {
  if (encrypt === undefined && sign === undefined) return data;
  const options = {
    encryptTo: encrypt === undefined ? undefined : readSecretFile(encrypt),
    signWith: sign === undefined ? undefined : readSecretFile(sign),
  };
  const { protectPayload } = await import('../../../sdk/src/encryption.ts');
  try {
    const paths = [encrypt, sign].filter((path) => path !== undefined).join(', ');
    return Buffer.from(await ofFile(paths, () => protectPayload(options, key, Uint8Array.from(data))));
  } catch (error) {
    throw error instanceof RangeError ? new InputError(error.message) : error;
  }
}

/** @param seq null: the server did not tell where the write is */
async function untilOnNodes(
  rest: Rest,
  seq: string | null,
  wait: number,
): Promise<readonly NodePropagation[]> {
  if (seq === null) throw new InputError(`${rest.origin} does not tell where a write is`);
  const place = seq;
  return (await rest.read((api) => api.propagation(place, { wait }))).nodes;
}

/** @throws InputError when a node has not got the write */
function tellNodes(nodes: readonly NodePropagation[], json: boolean): void {
  const shown = nodes.filter(({ applied }) => applied && !json);
  for (const { name, ms } of shown) print(escapeControls(ms === null ? name : `${name} ${ms} ms`));
  const missing = nodes.filter(({ applied }) => !applied);
  if (nodes.length === 0) throw new InputError('stored; this server knows of no node');
  if (missing.length === 0) return;
  const names = missing.map(({ name, late }) => escapeControls(late ? `${name} (late)` : name));
  throw new InputError(`stored, not yet on: ${names.join(', ')}`);
}

async function putLocally(
  clock: Clock,
  body: JsonObject,
  bytes: number,
  options: PutOptions,
  json: boolean,
): Promise<void> {
  const user = options.user ?? options.as;
  const run = async ({ deps, config }: CliContext): Promise<void> => {
    const written = await plain(async () => {
      // All that can be known without the database, before an account is made.
      const [record] = parseBulk(body, { now: clock(), zoneLength: deps.zoneLength }).records;
      const { key: name, namespace } = record!;
      const owner =
        user === undefined ? await knownOwner(deps, namespace) : await makeOwner(deps, namespace, user);
      const { records } = await writeBulk(deps, owner, body);
      if (options.publicRead === true) await setPublicRead(deps, namespace, true);
      const own = (await listOwnNamespaces(deps, owner)).find((one) => one.name === namespace);
      return { id: records[0]!.id, key: name, bytes, public_read: own?.public_read === true };
    });
    print(json ? JSON.stringify(written) : describe(written, config));
    if (lacksServer(config)) {
      process.stderr.write(
        `warning: no server runs over ${config.dataDir}, so nothing answers yet. Run uqrp serve with the same UQRP_DATA_DIR.\n`,
      );
    }
  };
  await withStore(clock, run, { mayCreate: user !== undefined });
}

interface Written {
  readonly key: string;
  readonly bytes: number;
  readonly public_read: boolean;
}

function storedLine({ key, bytes }: Pick<Written, 'key' | 'bytes'>): string {
  return `${key}: ${bytes} bytes stored`;
}

/** What was stored, and the command that reads it over DNS. */
function describe(written: Written, { host, dnsPort, zones }: Config): string {
  const name = `${written.public_read ? 'get' : 'get.auth-TOKEN'}.${written.key}.${zones[0]}`;
  return [
    storedLine(written),
    `  dig @${reachable(host)} -p ${dnsPort} TXT ${name} +short`,
    ...(written.public_read
      ? []
      : [
          '  TOKEN is a query token of the namespace (docs/API.md). --public-read opens the namespace to everyone.',
        ]),
  ].join('\n');
}

/** Deletes a record by its key: over REST with UQRP_TOKEN, else in the store. @throws InputError when there is none */
export async function deleteRecordByKey(
  clock: Clock,
  key: string,
  { api: address }: { readonly api?: string },
  json: boolean,
): Promise<void> {
  const gone = (id: string | null): void => {
    if (id === null) throw new InputError(`there is no record ${key}`);
    print(json ? JSON.stringify({ id, key, deleted: true }) : `${key} deleted`);
  };
  const token = readEnvironment().UQRP_TOKEN ?? '';
  if (token !== '') {
    const rest = openRest(address, commandConfig(), token);
    return gone((await rest.write((api) => api.records.bulk({ delete: [key] }))).deleted[0] ?? null);
  }
  if (address !== undefined) throw new UsageError('--api needs UQRP_TOKEN');
  await withStore(clock, async ({ deps }) => {
    const id = await plain(async () => {
      const body = { delete: [key] };
      const [record] = parseBulk(body, { now: clock(), zoneLength: deps.zoneLength }).delete;
      const owner = await ownerActor(deps, record!.namespace);
      return (await writeBulk(deps, owner, body)).deleted[0] ?? null;
    });
    gone(id);
  });
}

type Owner = Awaited<ReturnType<typeof ownerActor>>;

async function knownOwner(deps: Deps, namespace: string): Promise<Owner> {
  const owner = await findOwnerActor(deps, namespace);
  if (owner !== null) return owner;
  throw new InputError(
    `the namespace ${namespace} does not exist. Add --user EMAIL to make it for that account.`,
  );
}

/** The account as an actor; it and the namespace are made where they are missing. */
async function makeOwner(deps: Deps, namespace: string, email: string): Promise<Owner> {
  const owner = await findOwnerActor(deps, namespace);
  const known = await customerActor(deps, email);
  if (owner !== null) {
    if (owner.customerId !== known?.customerId) {
      throw new InputError(`the namespace ${namespace} belongs to another account than ${email}`);
    }
    return known;
  }
  const faults = namespaceNameFaults(namespace);
  if (faults.length > 0)
    throw new InputError(`the namespace ${namespace} cannot be made: ${faults.join('; ')}`);
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
    throw new InputError(error.messages.map(aboutOneItem).join('\n'));
  }
}
