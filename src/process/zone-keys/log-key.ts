/** The key that signs the transparency log of datasets. It is where the zone keys are: a file with SQLite, encrypted in the database with PostgreSQL. */

import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { dirname, join } from 'node:path';
import { realRandom } from '../../base/chance.ts';
import { createFileSync, makeFolderSync, readIfThere } from '../../base/files.ts';
import { LIMITS } from '../../base/limits.ts';
import { aesGcmEncryption } from '../../base/seal.ts';
import type { LogKeys } from '../../control/transparency/init.ts';
import type { LogKey } from '../../control/transparency/signer.ts';
import { deriveKey, type Secret } from '../../ops/config/data-dir.ts';
import type { LogSettings } from '../../ops/config/log-settings.ts';
import type { Resolve } from '../../outbound/connection.ts';
import { createOutboundClient, type OutboundClient } from '../../outbound/outbound-client.ts';
import { operatorOrigins } from '../../outbound/target.ts';
import { isJsonObject } from '../../protocol/input/fields.ts';
import type { TrustPolicy } from '../../protocol/transparency/policy.ts';
import { readPolicy } from '../../protocol/transparency/signatures.ts';
import { insertKeySet, readKeySets } from '../../store/server-keys.ts';
import type { Store } from '../../store/store.ts';

/** What the configuration says, as the signer and commands use it. */
export function policyOfSettings({ policy }: Pick<LogSettings, 'policy'>): TrustPolicy {
  const read = readPolicy(policy);
  if (!read.ok) throw new Error('the policy of the transparency log was read without a fault before');
  return read.policy;
}

/** Asks witnesses, which the operator chose: they may have private addresses. */
export function witnessClient({ own }: Pick<LogSettings, 'own'>, resolve: Resolve): OutboundClient {
  return createOutboundClient({ policy: operatorOrigins(own), resolve, deadlineMs: LIMITS.logWitnessMs });
}

export interface LogKeyPlace {
  readonly dataDir: string;
  readonly store: Pick<Store, 'engine' | 'read' | 'write'>;
  readonly secret: Secret;
}

const FILE = join('keys', 'transparency-log.json');
/** Of its row beside the key sets of zones. No zone has a name with a space. */
const ROW = 'transparency log';
const VERSION = 1;

export function openLogKeys({ dataDir, store, secret }: LogKeyPlace): LogKeys {
  const path = join(dataDir, FILE);
  const encryption = () => aesGcmEncryption(deriveKey(secret, 'transparency-log-key', 32), realRandom, 0);
  /** A change of the secret or a damaged row must not look like a log without a key. */
  async function stored(): Promise<string | null> {
    const [row] = await readKeySets(store.read, [ROW]);
    if (row === undefined) return null;
    try {
      return encryption().decrypt(ROW, Buffer.from(row.document, 'base64'));
    } catch {
      throw new LogKeyFault('the key of the transparency log does not decrypt: UQRP_SECRET is another one');
    }
  }
  const isShared = store.engine === 'postgres';
  return {
    async find() {
      const text = isShared ? await stored() : readIfThere(path);
      return text === null ? null : parse(text);
    },
    async make(origin, now) {
      const { privateKey } = generateKeyPairSync('ed25519');
      const text = print({ origin, privateKey });
      if (!isShared) {
        makeFolderSync(dirname(path), 0o700);
        return createFileSync(path, text, 0o600) === text;
      }
      const document = Buffer.from(encryption().encrypt(ROW, text)).toString('base64');
      return store.write((tx) => insertKeySet(tx, ROW, document, now));
    },
  };
}

/** The key cannot be used. The message holds no part of it. */
class LogKeyFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LogKeyFault';
  }
}

function print({ origin, privateKey }: { readonly origin: string; readonly privateKey: KeyObject }): string {
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return `${JSON.stringify({ version: VERSION, origin, privateKey: pem }, null, 2)}\n`;
}

function parse(text: string): LogKey {
  const unusable = new LogKeyFault(
    'the key of the transparency log is not readable. Put it back from a backup.',
  );
  try {
    const data: unknown = JSON.parse(text);
    if (!isJsonObject(data) || data.version !== VERSION) throw unusable;
    const { origin, privateKey: pem } = data;
    if (typeof origin !== 'string' || typeof pem !== 'string') throw unusable;
    const privateKey = createPrivateKey(pem);
    if (privateKey.asymmetricKeyType !== 'ed25519') throw unusable;
    return { origin, privateKey };
  } catch {
    // Messages of parsers may quote the key.
    throw unusable;
  }
}
