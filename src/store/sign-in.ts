import { insertText, statement } from './engine/statement.ts';
import type { Db, Tx } from './store.ts';

/** Codes that were mailed and not yet used. Rows are the same for addresses with and without an account. */
export interface SignInCodesTable {
  /** Keyed hash of the mail address. */
  address: string;
  /** 0 to `LIMITS.signInCodes` - 1: the key of the table bounds how many codes of an address live side by side. */
  slot: number;
  /** Keyed hash of the flow that asked for the code. */
  flow: string;
  /** Keyed hash of the address and the code: six digits could be guessed from a plain hash. */
  digest: string;
  /** Keyed hash of the network that asked; null: a browser that the address has signed in from. */
  network: string | null;
  /** Of the flow. Counted before the code is compared. */
  tries: number;
  expires_at: number;
}

/** Browsers from which a user has signed in by code. Strangers cannot use up what such a browser may ask for. */
export interface SignInBrowsersTable {
  /** Keyed hash of the mail address and the secret in the browser's cookie. */
  digest: string;
  user_id: string;
  expires_at: number;
}

/** Keys that sign session tokens. */
export interface JwtKeysTable {
  /** The period in which the key signs: every process computes the same number. */
  period: number;
  /** Unique; in the header of each token. */
  kid: string;
  /** JWK, JSON. */
  public_key: string;
  /** PKCS #8 in Base64, encrypted with the server's key (`core/secret-encryption.ts`). */
  private_key: Uint8Array;
}

const LIST = statement<{ address: string }, SignInCodesTable>(
  'select * from sign_in_codes where address = :address order by slot',
);

/** Every code of an address, ended ones included, in the order of their slots. */
export function codesOf(db: Db, address: string): Promise<SignInCodesTable[]> {
  return LIST.all(db, { address });
}

const PUT_FIRST = statement<SignInCodesTable>(
  insertText(
    'sign_in_codes',
    'address, slot, flow, digest, network, tries, expires_at',
    'on conflict (address, slot) do nothing',
  ),
);
const REPLACE = statement<SignInCodesTable & { replaced: string }>(
  `update sign_in_codes
  set flow = :flow, digest = :digest, network = :network, tries = :tries, expires_at = :expires_at
  where address = :address and slot = :slot and flow = :replaced`,
);

/**
 * Stores a code in its slot, unless the slot has changed since it was read.
 * @param replaced the flow of the code that was in the slot; null: the slot was empty
 * @returns whether it was stored
 */
export async function putCode(tx: Tx, code: SignInCodesTable, replaced: string | null): Promise<boolean> {
  const stored =
    replaced === null ? await PUT_FIRST.run(tx, code) : await REPLACE.run(tx, { ...code, replaced });
  return stored > 0;
}

/** Ten, and not one, so that codes do not add up. */
const ENDED = 'select flow from sign_in_codes where expires_at <= :now order by expires_at limit 10';

const FORGET = statement<{ now: number }>(`delete from sign_in_codes where flow in (${ENDED})`, {
  // Two units that delete the same rows would wait for each other.
  postgres: `delete from sign_in_codes where flow in (${ENDED} for update skip locked)`,
});

/** Deletes some codes of any address that have ended. */
export async function forgetEndedCodes(tx: Tx, now: number): Promise<void> {
  await FORGET.run(tx, { now });
}

const COUNT_TRY = statement<{ address: string; flow: string; most: number; now: number }, { digest: string }>(
  `update sign_in_codes set tries = tries + 1
  where address = :address and flow = :flow and expires_at > :now and tries < :most returning digest`,
);

/**
 * Counts a try with a flow and returns the digest to compare with. One statement: two processes cannot both take the last try.
 * @param most tries that a code allows
 * @returns null when the address has no code of this flow, or the code has ended or is void
 */
export async function countTry(
  tx: Tx,
  address: string,
  flow: string,
  most: number,
  now: number,
): Promise<string | null> {
  return (await COUNT_TRY.first(tx, { address, flow, most, now }))?.digest ?? null;
}

const DELETE = statement<{ address: string; flow: string }>(
  'delete from sign_in_codes where address = :address and flow = :flow',
);

/** @returns false when another unit has used or replaced the code since it was read */
export async function deleteCode(tx: Tx, address: string, flow: string): Promise<boolean> {
  return (await DELETE.run(tx, { address, flow })) > 0;
}

const FIND_BROWSER = statement<{ digest: string; now: number }, { digest: string }>(
  'select digest from sign_in_browsers where digest = :digest and expires_at > :now',
);

export async function isKnownBrowser(db: Db, digest: string, now: number): Promise<boolean> {
  return (await FIND_BROWSER.first(db, { digest, now })) !== null;
}

const PUT_BROWSER = statement<{ digest: string; userId: string; expiresAt: number }>(
  `insert into sign_in_browsers (digest, user_id, expires_at) values (:digest, :userId, :expiresAt)
  on conflict (digest) do update set expires_at = excluded.expires_at`,
);
const TRIM_BROWSERS = statement<{ userId: string; most: number }>(
  `delete from sign_in_browsers where user_id = :userId and digest not in (
    select digest from sign_in_browsers where user_id = :userId order by expires_at desc, digest limit :most)`,
);

/** Remembers a browser until `expiresAt`. @param most browsers of one user; those that end first are forgotten */
export async function putBrowser(
  tx: Tx,
  digest: string,
  userId: string,
  expiresAt: number,
  most: number,
): Promise<void> {
  await PUT_BROWSER.run(tx, { digest, userId, expiresAt });
  await TRIM_BROWSERS.run(tx, { userId, most });
}

const FIND = statement<{ kid: string }, JwtKeysTable>('select * from jwt_keys where kid = :kid');
const FIND_OF = statement<{ period: number }, JwtKeysTable>('select * from jwt_keys where period = :period');
const ADD = statement<JwtKeysTable>(
  insertText('jwt_keys', 'period, kid, public_key, private_key', 'on conflict do nothing'),
);
const DELETE_BEFORE = statement<{ oldest: number }>('delete from jwt_keys where period < :oldest');

export function findJwtKey(db: Db, kid: string): Promise<JwtKeysTable | null> {
  return FIND.first(db, { kid });
}

export function findJwtKeyOf(db: Db, period: number): Promise<JwtKeysTable | null> {
  return FIND_OF.first(db, { period });
}

/** Adds the key of its period, unless another process has. Deletes keys of periods before `oldest`. */
export async function addJwtKey(tx: Tx, key: JwtKeysTable, oldest: number): Promise<void> {
  await ADD.run(tx, key);
  await DELETE_BEFORE.run(tx, { oldest });
}
