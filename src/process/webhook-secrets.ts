import { randomBytes } from 'node:crypto';
import type { SecretEncryption } from '../base/secret-encryption.ts';
import { aesGcmEncryption } from '../base/secret-encryption.ts';
import { deriveKey, type Secret } from '../ops/config/secrets.ts';

/** Encrypts signing secrets of webhooks under a key derived from the server's secret, used for nothing else. */
export function webhookSecretEncryption(secret: Secret): SecretEncryption {
  return aesGcmEncryption(deriveKey(secret, 'webhook-signing-secret', 32), randomBytes);
}
