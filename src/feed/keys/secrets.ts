/** The secrets of one node as JSON: in a message for it alone, and in the copy that it keeps on its disk. */
import type { Random } from '../../base/chance.ts';
import { type Files, readIfThere, replaceFileSync, systemFiles } from '../../base/files.ts';
import { aesGcmEncryption } from '../../base/seal.ts';
import type { NodeSecrets, PeriodSecret, ZoneSecret } from '../ports/node-keys.ts';

const VERSION = 1;
const COOKIE_OCTETS = 16;
const TICKET_OCTETS = 48;

export interface SecretsContent {
  /** The one that the secrets are of (`databaseOf` its epoch): keys of another one's would make every signature bogus. */
  readonly database: string;
  readonly secrets: NodeSecrets;
}

export function printSecrets({ database, secrets: { zones, cookies, tickets } }: SecretsContent): string {
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
export function parseSecrets(text: string): SecretsContent | null {
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

interface KeptSecrets extends SecretsContent {
  /** Of the delivery. */
  readonly at: number;
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
  readonly random: Random;
  readonly files?: Files;
}

const FILE_MODE = 0o600;

export function secretsCopy({
  path,
  node,
  key,
  random,
  files = systemFiles,
}: SecretsCopyOptions): SecretsCopy {
  const encryption = aesGcmEncryption(key, random, 0);
  const name = `node-secrets ${node}`;
  return {
    read() {
      const text = readIfThere(path, files);
      if (text === null) return null;
      const kept = keptOf(() => encryption.decrypt(name, Buffer.from(text, 'base64')));
      if (kept === null) throw new SecretsCopyError(path);
      return kept;
    },
    write({ at, ...kept }) {
      const plain = JSON.stringify({ at, secrets: printSecrets(kept) });
      const text = Buffer.from(encryption.encrypt(name, plain)).toString('base64');
      replaceFileSync(path, text, FILE_MODE, files);
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
