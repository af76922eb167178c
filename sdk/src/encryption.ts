/** `uqrp-sdk/encryption`: values that the server cannot read or change (docs/ENCRYPTION.md), by WebCrypto. */

export {
  decryptPayload,
  ENCRYPTED_PLAINTEXT_MAX,
  encryptPayload,
  envelopeTime,
  type OpenedPayload,
  type WriteTime,
} from './encryption/encrypted.ts';
export { PayloadError, type PayloadFault, RolledBack } from './encryption/faults.ts';
export { type EncryptionKey, KEY_FILE_MAX, newKeyLine, readKeyFile } from './encryption/key-file.ts';
export { type OpenOptions, PayloadOpener, REMEMBERED_KEYS_MAX } from './encryption/opener.ts';
export { type ProtectOptions, protectPayload } from './encryption/protect.ts';
export {
  newSigningKey,
  type PublicKey,
  publicKeyBase64,
  publicKeyPem,
  readPublicKey,
  readSigningKey,
  SIGNED_PAYLOAD_MAX,
  type SigningKey,
  signPayload,
  unverifiedPayload,
  verifyPayload,
} from './encryption/signed.ts';
