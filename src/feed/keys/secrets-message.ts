/** The secrets of one node (`UQFP`, see `feed/batch/sealed.ts`): JSON, also as the copy that the node keeps on its disk. */
import type { KeyObject } from 'node:crypto';
import { FeedRefusedError } from '../batch/refusal.ts';
import { type Freshness, openSealed, type Recipient, type SealedType, writeSealed } from '../batch/sealed.ts';
import type { FeedSigner, FeedVerifier } from '../batch/signature.ts';
import type { NodeSecrets, PeriodSecret, ZoneSecret } from '../ports/node-keys.ts';

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
