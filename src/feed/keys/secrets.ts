/** The secrets of one node (`UQFP`, see `feed/batch/sealed.ts`): JSON, also as the copy that the node keeps on its disk. */
import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { replaceFileSync } from '../../base/files/replace-file.ts';
import { aesGcmEncryption } from '../../base/secret-encryption.ts';
import type { FeedSigner, FeedVerifier } from '../message/message.ts';
import {
  type Freshness,
  openSealed,
  type Recipient,
  type SealedType,
  writeSealed,
} from '../message/sealed.ts';
import type { NodeSecrets, PeriodSecret, ZoneSecret } from '../ports/node-keys.ts';
import { FeedRefusedError } from '../ports/refusal.ts';

const SECRETS: SealedType = { kind: 'UQFP', info: Buffer.from('uqrp node secrets 1') };
const VERSION = 1;
const COOKIE_OCTETS = 16;
const TICKET_OCTETS = 48;

export interface SecretsDelivery {
  readonly node: string;
  /** Of control's clock, milliseconds since the epoch. */
  readonly at: number;
  /** The one that the secrets are of (`databaseOf` its epoch): keys of another one's would make every signature bogus. */
  readonly database: string;
  readonly secrets: NodeSecrets;
}

/** What is encrypted. */
type Kept = Pick<SecretsDelivery, 'database' | 'secrets'>;

/** @param recipient X25519 public key of the node. @param question that is answered; left out: nobody asked */
export function writeSecrets(
  { node, at, database, secrets }: SecretsDelivery,
  recipient: KeyObject,
  signer: FeedSigner,
  question?: Uint8Array,
): Uint8Array {
  const plain = Buffer.from(printSecrets({ database, secrets }));
  return writeSealed(SECRETS, { node, at, plain }, recipient, signer, question);
}

/** @throws FeedRefusedError and nothing else, whatever the bytes are */
export function openSecrets(
  message: Uint8Array,
  verifier: FeedVerifier,
  own: Recipient,
  fresh: Freshness,
): SecretsDelivery {
  const { node, at, plain } = openSealed(SECRETS, message, verifier, own, fresh);
  const kept = parseSecrets(Buffer.from(plain).toString('utf8'));
  if (kept === null) throw new FeedRefusedError('format');
  return { node, at, ...kept };
}

export function printSecrets({ database, secrets: { zones, cookies, tickets } }: Kept): string {
  const periods = (list: readonly PeriodSecret[]) =>
    list.map(({ period, secret }) => ({ period, secret: Buffer.from(secret).toString('base64') }));
  return JSON.stringify({
    v: VERSION,
    database,
    zones,
    cookies: periods(cookies),
    tickets: periods(tickets),
  });
}

/** @returns null for anything but secrets of this version */
export function parseSecrets(text: string): Kept | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { v, database, zones, cookies, tickets } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (v !== VERSION || typeof database !== 'string' || !Array.isArray(zones) || !zones.every(isZone))
    return null;
  const [daily, half] = [periodsOf(cookies, COOKIE_OCTETS), periodsOf(tickets, TICKET_OCTETS)];
  if (daily === null || half === null) return null;
  return { database, secrets: { zones, cookies: daily, tickets: half } };
}

function isZone(value: unknown): value is ZoneSecret {
  const { zone, mark, from, document } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isText = [zone, mark, document].every((text) => typeof text === 'string');
  return isText && Number.isSafeInteger(from);
}

function periodsOf(value: unknown, octets: number): PeriodSecret[] | null {
  if (!Array.isArray(value)) return null;
  const secrets: PeriodSecret[] = [];
  for (const each of value as readonly unknown[]) {
    const { period, secret } = (each ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof secret !== 'string' || !Number.isSafeInteger(period)) return null;
    const bytes = Buffer.from(secret, 'base64');
    if (bytes.length !== octets) return null;
    secrets.push({ period: period as number, secret: bytes });
  }
  return secrets;
}

/** The secrets of a node on its disk, so that it starts when everything else is dead. */

interface KeptSecrets {
  /** Of the delivery. */
  readonly at: number;
  readonly database: string;
  readonly secrets: NodeSecrets;
}

export interface SecretsCopy {
  /** Null: there is none. @throws SecretsCopyError for one that is torn, or another node's */
  read(): KeptSecrets | null;
  write(kept: KeptSecrets): void;
}

export class SecretsCopyError extends Error {
  override readonly name = 'SecretsCopyError';

  constructor(path: string) {
    super(
      `${path} is damaged, or was made with other credentials: it is not used. It is replaced by what control delivers.`,
    );
  }
}

interface SecretsCopyOptions {
  readonly path: string;
  readonly node: string;
  /** 32 octets that are used for nothing else, derived from the credentials of the node. */
  readonly key: Uint8Array;
  readonly random: (octets: number) => Uint8Array;
}

const FILE_MODE = 0o600;

export function secretsCopy({ path, node, key, random }: SecretsCopyOptions): SecretsCopy {
  const encryption = aesGcmEncryption(key, random, 0);
  const name = `node-secrets ${node}`;
  return {
    read() {
      let text: string;
      try {
        text = readFileSync(path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
        throw error;
      }
      const kept = keptOf(() => encryption.decrypt(name, Buffer.from(text, 'base64')));
      if (kept === null) throw new SecretsCopyError(path);
      return kept;
    },
    write({ at, ...kept }) {
      const plain = JSON.stringify({ at, secrets: printSecrets(kept) });
      replaceFileSync(path, Buffer.from(encryption.encrypt(name, plain)).toString('base64'), FILE_MODE);
    },
  };
}

function keptOf(decrypt: () => string): KeptSecrets | null {
  try {
    const { at, secrets: text } = JSON.parse(decrypt()) as { at: unknown; secrets: unknown };
    const kept = typeof text === 'string' ? parseSecrets(text) : null;
    return kept === null || !Number.isSafeInteger(at) ? null : { at: at as number, ...kept };
  } catch {
    // The error may quote the text.
    return null;
  }
}
