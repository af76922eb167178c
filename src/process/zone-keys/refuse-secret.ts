import { DecryptError } from '../../dns/dnssec/keys/key-encryption.ts';
import { ConfigError } from '../../ops/config/config.ts';

/** Rejection handler: reports keys that cannot be decrypted as a configuration fault, and rethrows anything else. */
export function refuseSecret(error: unknown): never {
  if (!(error instanceof DecryptError)) throw error;
  throw new ConfigError([
    `UQRP_SECRET must be the one of the other processes: ${error.message}. Copy it from the control process`,
  ]);
}
