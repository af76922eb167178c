import { createHash } from 'node:crypto';
import type { AppliedChange, ChangeBody } from '../../../src/protocol/change.ts';

export function upserted(key: string, text = key, rest: Partial<RecordUpsert> = {}): ChangeBody {
  const [version, namespace, resource] = key.split('.').reverse() as [string, string, string];
  const data = Buffer.from(text).toString('base64');
  return {
    type: 'record.upserted',
    key,
    namespace,
    resource,
    version,
    data,
    contentType: 'text/plain',
    ttlSeconds: 300,
    expiresAt: null,
    ...rest,
  };
}

type RecordUpsert = Extract<ChangeBody, { type: 'record.upserted' }>;

export function deleted(key: string): ChangeBody {
  return { type: 'record.deleted', key, namespace: key.split('.').at(-2)! };
}

/** The sweep deleted the record. @param at milliseconds since the epoch */
export function expired(key: string, at: number): AppliedChange {
  return { ...deleted(key), at, cause: 'expiry' };
}

export const NAMESPACE_ID = '018f0000-0000-7000-8000-000000000001';

export function namespaceUpserted(
  namespace: string,
  publicRead = false,
  suspended = false,
  id = NAMESPACE_ID,
  maxTtl?: number,
): ChangeBody {
  return {
    type: 'namespace.upserted',
    namespace,
    id,
    publicRead,
    suspended,
    ...(maxTtl !== undefined && { maxTtl }),
    recordsCount: 0,
    createdAt: 0,
    updatedAt: 0,
  };
}

export function namespaceDeleted(namespace: string): ChangeBody {
  return { type: 'namespace.deleted', namespace, id: NAMESPACE_ID };
}

export function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export function minted(namespace: string, token: string, expiresAt = 1_900_000_000_000): ChangeBody {
  return { type: 'token.minted', namespace, digest: digestOf(token), expiresAt };
}

export function revoked(namespace: string, token: string): ChangeBody {
  return { type: 'token.revoked', namespace, digest: digestOf(token) };
}
