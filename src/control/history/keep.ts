/** What a unit of work keeps of the values that it replaces, in namespaces whose owner asked for it. */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { decryptGcm, encryptGcm, NONCE_OCTETS, type SecretEncryption } from '../../base/seal.ts';
import type { KeepingNamespace, NamespaceRow, NamespaceSettings } from '../../store/namespaces.ts';
import type { RecordsTable } from '../../store/records.ts';
import type { Db, Tx } from '../../store/store.ts';
import {
  addVersions,
  endHistory,
  historySecret,
  insertHistory,
  type KeptVersion,
  lastOfKeys,
  trimHistory,
} from '../../store/versions.ts';
import type { HasRandom } from '../deps.ts';

const KEY_OCTETS = 32;

export interface HasHistoryKeys extends HasRandom {
  /** Encrypts the key of each history with UQRP_SECRET. */
  readonly historyKeys: SecretEncryption;
}

/** A value that a unit ended: the row as it was before. */
interface EndedValue {
  readonly row: RecordsTable;
  /** When the next value began, or the deletion, milliseconds since the epoch. */
  readonly until: number;
  readonly cause: 'write' | 'delete';
  /** Whether its record may be gone without another row, see `KeptVersion`. */
  readonly isLast: boolean;
}

/** What a unit did in one namespace. */
export interface Kept {
  readonly ended: readonly EndedValue[];
  /** Rows of records that were not there before. An undo of the write deletes them. */
  readonly made: readonly RecordsTable[];
}

export function endedByWrite(row: RecordsTable, next: RecordsTable): EndedValue {
  return { row, until: next.updated_at, cause: 'write', isLast: next.expires_at !== null };
}

export function endedByDeletion(row: RecordsTable, now: number): EndedValue {
  return { row, until: Math.max(now, row.updated_at), cause: 'delete', isLast: true };
}

/** Versions of a record, and days of a version, that the owner of a namespace wants at most. */
interface WantedHistory {
  readonly versions: number;
  readonly days: number;
}

type HistorySettings = Omit<NamespaceSettings, 'max_ttl'>;

const NO_HISTORY: HistorySettings = {
  history_id: null,
  history_versions: null,
  history_days: null,
  history_since: null,
};

/** Begins, changes or ends the history of a namespace that the unit has locked. @returns its new settings */
export async function switchHistory(
  tx: Tx,
  deps: HasHistoryKeys,
  namespace: NamespaceRow,
  wanted: WantedHistory | null,
  now: number,
): Promise<HistorySettings> {
  const { id, customer_id, history_id, history_versions, history_since } = namespace;
  if (wanted === null) {
    if (history_id !== null) await endHistory(tx, history_id);
    return NO_HISTORY;
  }
  const settings = { history_versions: wanted.versions, history_days: wanted.days };
  if (history_id !== null) {
    if (wanted.versions < (history_versions ?? 0)) await trimHistory(tx, history_id, now);
    return { ...settings, history_id, history_since };
  }
  // 48 bits: two of a million histories are equal once in 500 databases, and the unit of the second one fails.
  const fresh = Buffer.from(deps.random(6)).readUIntBE(0, 6);
  const secret = deps.historyKeys.encrypt(
    nameOf(fresh),
    Buffer.from(deps.random(KEY_OCTETS)).toString('base64url'),
  );
  await insertHistory(tx, { id: fresh, namespace_id: id, customer_id, whole_since: now }, secret);
  return { ...settings, history_id: fresh, history_since: now };
}

/**
 * Keeps what a unit replaced, deleted and made in a namespace, if it has a history. Call it after the append of the changes, whose `seq` names
 * the write.
 */
export async function keepVersions(
  tx: Tx,
  deps: HasHistoryKeys,
  namespace: KeepingNamespace,
  seq: number,
  { ended, made }: Kept,
): Promise<void> {
  const { id: namespaceId, history_id, history_versions } = namespace;
  if (history_id === null || history_versions === null || ended.length + made.length === 0) return;
  const secret = await historySecret(tx, history_id);
  // The unit holds the namespace, and so its history.
  if (secret === null) throw new Error('a history has lost its key (table history_keys)');
  const key = keyFrom(deps, history_id, secret);
  const common = { history_id, write_seq: seq, write_rows: ended.length + made.length };
  // Drawn together: one by one they take a third as long as the encryption.
  const nonces = deps.random(NONCE_OCTETS * ended.length);
  const rows: KeptVersion[] = ended.map(({ row, until, cause, isLast }, i) => ({
    ...common,
    key: row.key,
    version: row.revision,
    cause,
    valid_from: row.updated_at,
    valid_to: until,
    content_type: row.content_type,
    ttl_seconds: row.ttl_seconds,
    expires_at: row.expires_at,
    encoding: row.encoding,
    created_at: isLast ? row.created_at : null,
    record_id: isLast ? row.id : null,
    octets: row.data.length,
    data: encryptValue(
      key,
      nonces.subarray(i * NONCE_OCTETS, (i + 1) * NONCE_OCTETS),
      about(namespaceId, row.key, row.revision),
      row.data,
    ),
  }));
  for (const row of made) {
    rows.push({
      ...common,
      key: row.key,
      version: row.revision - 1,
      cause: 'create',
      valid_from: row.updated_at,
      valid_to: row.updated_at,
      content_type: '',
      ttl_seconds: 0,
      expires_at: null,
      encoding: null,
      created_at: null,
      record_id: null,
      octets: 0,
      data: null,
    });
  }
  const drop = rows.map(({ key: name, version }) => [name, version - history_versions] as const);
  await addVersions(tx, history_id, rows, new Map(drop.filter(([, last]) => last > 0)));
}

/** The number of the first value of each key after those that the history knows. 1 without a history. */
export async function nextRevisions(
  tx: Tx,
  { history_id }: Pick<KeepingNamespace, 'history_id'>,
  keys: readonly string[],
): Promise<(key: string) => number> {
  if (history_id === null) return () => 1;
  const last = await lastOfKeys(tx, history_id, keys);
  return (key) => (last.get(key)?.version ?? 0) + 1;
}

/** Payloads of versions by row. Null: the history has ended meanwhile. @throws Error for a row that was changed */
export async function openVersions(
  db: Db,
  deps: HasHistoryKeys,
  { id: namespaceId, history_id }: Pick<KeepingNamespace, 'id' | 'history_id'>,
): Promise<((row: KeptVersion) => Buffer | null) | null> {
  const secret = history_id === null ? null : await historySecret(db, history_id);
  if (history_id === null || secret === null) return null;
  const key = keyFrom(deps, history_id, secret);
  return ({ key: name, version, data }) => {
    if (data === null) return null;
    const plain = decryptGcm(
      key,
      data.subarray(0, NONCE_OCTETS),
      about(namespaceId, name, version),
      data.subarray(NONCE_OCTETS),
    );
    if (plain === null) throw new Error('a version is of another key or row, or was changed');
    return plain;
  };
}

function keyFrom({ historyKeys }: HasHistoryKeys, id: number, secret: Uint8Array): KeyObject {
  return createSecretKey(Buffer.from(historyKeys.decrypt(nameOf(id), secret), 'base64url'));
}

function encryptValue(key: KeyObject, nonce: Uint8Array, aad: Buffer, data: Uint8Array): Buffer {
  return Buffer.concat([nonce, encryptGcm(key, nonce, aad, data)]);
}

/** What a payload belongs to: copied to another row it does not decrypt. */
function about(namespaceId: string, key: string, version: number): Buffer {
  return Buffer.from(`${namespaceId} ${key} ${version}`);
}

function nameOf(id: number): string {
  return `history ${id}`;
}
