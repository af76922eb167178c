/** The beginning of a transparency log: its row, its first entries, its key, and the signed checkpoint of the empty tree. */
import { InputError, UsageError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { isKeyName, LOG_KEY, printVerifierKey, type VerifierKey } from '../../protocol/transparency/note.ts';
import { verifierKeyOf } from '../../protocol/transparency/signatures.ts';
import { EMPTY_ROOT } from '../../protocol/transparency/tree.ts';
import { listVersions } from '../../store/datasets.ts';
import {
  holdLogHead,
  insertLogCheckpoint,
  insertLogHead,
  lastSignedCheckpoint,
  readLogHead,
} from '../../store/transparency.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { appendMissing } from './missing.ts';
import { type LogKey, signedNote } from './signer.ts';

/** Where the key of the log is kept. */
export interface LogKeys {
  /** Null: there is none. Its error holds no part of the key. */
  find(): Promise<LogKey | null>;
  /** Makes a key, never where there is one. @returns false: there is one */
  make(origin: string, now: number): Promise<boolean>;
}

export interface BegunLog {
  readonly verifierKey: string;
  readonly entries: number;
}

/** The slug that names of the log take over DNS. */
export const LOG_SLUG = 'log';

/**
 * Begins the log of this registry, with what it has published so far. A beginning that was killed is gone on with.
 * @throws UsageError for an origin that is none; InputError where there is a log or a key, or a dataset has the name that the log takes
 */
export async function initLog(deps: HasStore & HasClock, keys: LogKeys, origin: string): Promise<BegunLog> {
  const { store, clock } = deps;
  checkOrigin(origin);
  const head = await readLogHead(store.read);
  const begun = head === null ? null : head.origin;
  if (begun !== null && (begun !== origin || (await lastSignedCheckpoint(store.read)) !== null))
    throw new InputError(`there is a transparency log already: ${begun}`);
  if (begun === null) {
    if ((await keys.find()) !== null)
      throw new InputError(
        'there is a key of a transparency log already, and no log in this database. Restore the database, or move the key away: what it signed must never be signed differently',
      );
    await refuseSlug(deps);
    await store.write(async (tx) => {
      await insertLogHead(tx, origin);
    });
  }
  await appendMissing(deps);
  await keys.make(origin, clock());
  const key = await keys.find();
  if (key === null || key.origin !== origin)
    throw new InputError('the key of the transparency log is that of another origin');
  return store.write(async (tx) => {
    const { size } = (await holdLogHead(tx))!;
    if ((await lastSignedCheckpoint(tx)) === null) {
      // Witnesses are asked about the last signed checkpoint before anything is signed: so there is one from the beginning.
      const note = signedNote(key, 0, EMPTY_ROOT);
      await insertLogCheckpoint(tx, { size: 0, root: EMPTY_ROOT, note, published: null });
    }
    return { verifierKey: printVerifierKey(verifierKeyOfLog(key)), entries: size };
  });
}

export function verifierKeyOfLog({ origin, privateKey }: LogKey): VerifierKey {
  return verifierKeyOf(origin, LOG_KEY, privateKey);
}

async function refuseSlug({ store }: HasStore): Promise<void> {
  const rows = await listVersions(store.read, ['importing', 'served'], LOG_SLUG);
  if (rows.length > 0)
    throw new InputError(
      `a dataset has the slug ${LOG_SLUG}, which names the transparency log over DNS: retire it first`,
    );
}

/** @throws UsageError */
function checkOrigin(origin: string): void {
  const url = URL.canParse(`https://${origin}`) ? new URL(`https://${origin}`) : null;
  const isPrefix =
    url !== null && (origin === url.host || (origin === url.host + url.pathname && !origin.endsWith('/')));
  if (isPrefix && isKeyName(origin) && origin.length <= LIMITS.logOrigin) return;
  throw new UsageError(
    `an origin is the URL prefix of the log without its scheme, at most ${LIMITS.logOrigin} characters, such as api.example.net/log`,
  );
}
