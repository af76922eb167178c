import type { ChangeBody } from '../../core/change.ts';
import { contentFormat } from '../../core/query/envelope.ts';
import type { HostedNamespace, HostedRecord, HostedToken } from './view.ts';

/** A view under change. */
export interface ViewTarget {
  putRecord(key: string, record: HostedRecord): void;
  deleteRecord(key: string): void;
  putNamespace(name: string, namespace: HostedNamespace): void;
  /** Removes the namespace, its tokens and every record in it. */
  dropNamespace(name: string): void;
  putToken(digest: string, token: HostedToken): void;
  deleteToken(digest: string): void;
}

/** Does to a view what one change says. A record upsert whose payload was erased does nothing: a later change follows it. */
export function applyChange(target: ViewTarget, change: ChangeBody): void {
  switch (change.type) {
    case 'record.upserted': {
      const { key, data, contentType, ttlSeconds, expiresAt } = change;
      if (data === null) return;
      const format = contentFormat(contentType);
      target.putRecord(key, { data: Buffer.from(data, 'base64'), format, ttlSeconds, expiresAt });
      return;
    }
    case 'record.deleted':
      target.deleteRecord(change.key);
      return;
    case 'namespace.upserted': {
      const { namespace, publicRead, suspended } = change;
      target.putNamespace(namespace, { publicRead, suspended });
      return;
    }
    case 'namespace.closing':
      target.putNamespace(change.namespace, { publicRead: false, suspended: true });
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
  }
}

/** The part of a target that a snapshot needs. */
export type UpsertTarget = Pick<ViewTarget, 'putRecord' | 'putNamespace' | 'putToken'>;

/** A target for the pages of a snapshot: it throws a RangeError for a deletion, because a state has nothing to delete. */
export function snapshotTarget(upserts: UpsertTarget): ViewTarget {
  const refuse = (): never => {
    throw new RangeError('a snapshot is made of upserts');
  };
  return { ...upserts, deleteRecord: refuse, dropNamespace: refuse, deleteToken: refuse };
}
