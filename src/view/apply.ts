import { LIMITS } from '../base/limits.ts';
import type { AppliedChange } from '../protocol/change.ts';
import { contentFormat, FORMATS } from '../protocol/query/envelope.ts';
import type { DatasetTarget, HostedTarget } from './view.ts';

export interface ViewTarget extends HostedTarget, DatasetTarget {}

/**
 * Applies one change to a view. An upsert of a record whose payload was erased withholds the record until the later change that replaced it: what the
 * view has is older, and those who may read by then may not be those who could read it.
 */
export function applyChange(target: ViewTarget, change: AppliedChange): void {
  switch (change.type) {
    case 'record.upserted': {
      const { key, data, contentType, ttlSeconds, expiresAt, encoding } = change;
      if (data === null) {
        target.withholdRecord(key);
        return;
      }
      const format = contentFormat(contentType, FORMATS);
      const plain = encoding === 'plain';
      target.putRecord(key, { data: Buffer.from(data, 'base64'), plain, format, ttlSeconds, expiresAt });
      return;
    }
    case 'record.deleted':
      noteExpiry(target, change);
      target.deleteRecord(change.key);
      return;
    case 'namespace.upserted': {
      const { namespace, id, publicRead, suspended, maxTtl = LIMITS.openTtlDefault } = change;
      target.putNamespace(namespace, { id, publicRead, suspended }, maxTtl);
      return;
    }
    case 'namespace.closing':
      putClosing(target, change.namespace, change.id);
      return;
    case 'namespace.deleted':
      // The log has a record.deleted for each record before it. A view that missed one must still not keep its data.
      target.dropNamespace(change.namespace);
      return;
    case 'token.minted': {
      const { digest, namespace, expiresAt } = change;
      target.putToken(digest, { namespace, expiresAt });
      return;
    }
    case 'token.revoked':
      target.deleteToken(change.digest);
      return;
    case 'dataset.items':
      target.putItems(change.versionId, change.items);
      return;
    case 'dataset.published':
      target.publish(change.versionId, change.manifest);
      return;
    case 'dataset.withdrawn':
      target.withdraw(change.versionId);
      return;
    case 'dataset.key': {
      const { kid, publicKey, since, end } = change;
      target.putKey(kid, { publicKey: Buffer.from(publicKey, 'base64'), since, end });
      return;
    }
    case 'log.proof':
      target.putProof(change.versionId, change.proof);
      return;
    case 'log.checkpoint':
      target.putCheckpoint(change.checkpoint);
      return;
  }
}

function putClosing(target: ViewTarget, name: string, id: string): void {
  target.putNamespace(name, { id, publicRead: false, suspended: true }, LIMITS.openTtlDefault);
}

function noteExpiry(
  target: ViewTarget,
  { key, namespace, at, cause }: Extract<AppliedChange, { type: 'record.deleted' }>,
): void {
  if (cause === 'expiry' && at !== undefined) target.rememberExpired(key, namespace, at);
  else if (cause === 'direct') target.forgetExpired(key, namespace);
}

type Deletion =
  | 'deleteRecord'
  | 'withholdRecord'
  | 'rememberExpired'
  | 'forgetExpired'
  | 'dropNamespace'
  | 'deleteToken';

export type UpsertTarget = Omit<ViewTarget, Deletion>;

/**
 * A target for snapshot pages. It throws a RangeError for a deletion, since a snapshot has none. A withdrawal is none: it says of a version, some of
 * whose items may be in earlier pages, that it is over.
 */
export function snapshotTarget(upserts: UpsertTarget): ViewTarget {
  const refuse = (): never => {
    throw new RangeError('a snapshot is made of upserts');
  };
  return {
    ...upserts,
    deleteRecord: refuse,
    withholdRecord: refuse,
    rememberExpired: refuse,
    forgetExpired: refuse,
    dropNamespace: refuse,
    deleteToken: refuse,
  };
}

/**
 * The target, for changes after pages of a snapshot. Pages may be of later than these changes: a namespace that a record expired in may have another owner
 * in them, who must not be told of it.
 */
export function afterPages(target: ViewTarget): ViewTarget {
  return { ...target, rememberExpired() {} };
}
