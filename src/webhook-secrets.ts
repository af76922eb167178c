import { randomBytes } from 'node:crypto';
import { deriveKey, type Secret } from './config/secrets.ts';
import type { SecretEncryption } from './core/secret-encryption.ts';
import { aesGcmEncryption } from './core/secret-encryption.ts';

/** Encrypts signing secrets of webhooks under a key derived from the server's secret, used for nothing else. */
export function webhookSecretEncryption(secret: Secret): SecretEncryption {
  return aesGcmEncryption(deriveKey(secret, 'webhook-signing-secret', 32), randomBytes);
}
