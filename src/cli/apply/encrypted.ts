/** Encrypted values in a plan: it compares what is encrypted, since each encryption gives other octets. */
import {
  decryptPayload,
  ENCRYPTED_PLAINTEXT_MAX,
  type EncryptionKey,
  encryptPayload,
  envelopeTime,
  PayloadError,
} from '../../../sdk/src/encryption.ts';
import { InputError } from '../../base/errors.ts';
import type { PresentRecord, Step, WantedRecord } from './plan.ts';

export interface PlanKeys {
  /** Path of the key file. */
  readonly path: string;
  /** The first encrypts. */
  readonly keys: readonly [EncryptionKey, ...EncryptionKey[]];
}

const TYPE = 'application/octet-stream';

/** The record with its decrypted value; as it is, where no key of the file opens it. */
export async function decryptedRecord(
  { path, keys }: PlanKeys,
  record: PresentRecord,
): Promise<PresentRecord> {
  try {
    const { data, time } = await decryptPayload(keys, record.key, record.data, path);
    return { ...record, data: Buffer.from(data), isEncrypted: true, writtenAt: time };
  } catch (error) {
    if (error instanceof PayloadError) return record;
    throw error;
  }
}

/** @throws InputError with the keys of records that are too long */
export function encryptedWants(records: readonly WantedRecord[]): readonly WantedRecord[] {
  const long = records.filter(({ data }) => data.length > ENCRYPTED_PLAINTEXT_MAX);
  if (long.length > 0) {
    const faults = long.map(
      ({ key, data }) =>
        `${key} has ${data.length} bytes, and an encrypted record at most ${ENCRYPTED_PLAINTEXT_MAX}`,
    );
    throw new InputError(faults.join('\n'));
  }
  return records.map((record) => ({ ...record, contentType: TYPE, isEncrypted: true }));
}

/** The steps with values as they are written. */
export function encryptedSteps(
  { keys: [first] }: PlanKeys,
  steps: readonly Step[],
): Promise<readonly Step[]> {
  return Promise.all(
    steps.map(async (step) => {
      if (step.kind === 'deleted' || step.wanted.isEncrypted !== true) return step;
      const after = step.kind === 'changed' ? (step.present.writtenAt ?? null) : null;
      const data = await encryptPayload(first, step.key, step.wanted.data, { after });
      return { ...step, wanted: { ...step.wanted, data: Buffer.from(data) } };
    }),
  );
}

/** Whether a value seems encrypted or signed for a record's key: under another key no reader would accept it. */
export function isBoundToKey({ data, contentType }: Pick<PresentRecord, 'data' | 'contentType'>): boolean {
  return contentType === TYPE && envelopeTime(data) !== null;
}
