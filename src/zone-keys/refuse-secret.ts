import { ConfigError } from '../config/config.ts';
import { SealError } from '../edge/dnssec/keys/key-encryption.ts';

/** Handler of a rejected promise: keys that do not open are a fault of the configuration, anything else is thrown on. */
export function refuseSecret(error: unknown): never {
  if (!(error instanceof SealError)) throw error;
  throw new ConfigError([
    `UQRP_SECRET must be the one of the other processes: ${error.message}. Copy it from the control process`,
  ]);
}
