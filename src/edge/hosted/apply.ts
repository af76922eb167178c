import type { ChangeBody, ChangeType } from '../../core/change.ts';
import { contentFormat } from '../../core/query/envelope.ts';
import type { HostedNamespace, HostedRecord, HostedToken } from './view.ts';

/** What one change does to a view. */
export type ViewOperation =
  | { readonly kind: 'put-record'; readonly key: string; readonly record: HostedRecord }
  | { readonly kind: 'delete-record'; readonly key: string }
  | { readonly kind: 'put-namespace'; readonly name: string; readonly namespace: HostedNamespace }
  /** Removes the namespace, its tokens and every record in it. */
  | { readonly kind: 'drop-namespace'; readonly name: string }
  | { readonly kind: 'put-token'; readonly digest: string; readonly token: HostedToken }
  | { readonly kind: 'delete-token'; readonly digest: string };

type Kind = ViewOperation['kind'];

/** A view under change: one function a kind of operation. */
export type ViewTarget = {
  readonly [K in Kind]: (operation: Extract<ViewOperation, { kind: K }>) => void;
};

type Translation = {
  readonly [T in ChangeType]: (change: Extract<ChangeBody, { type: T }>) => ViewOperation | null;
};

const TRANSLATION: Translation = {
  // A payload that was erased from the log, since a later change replaced or deleted it: that change follows.
  'record.upserted': ({ key, data, contentType, ttlSeconds, expiresAt }) =>
    data === null
      ? null
      : {
          kind: 'put-record',
          key,
          record: {
            data: Buffer.from(data, 'base64'),
            format: contentFormat(contentType),
            ttlSeconds,
            expiresAt,
          },
        },
  'record.deleted': ({ key }) => ({ kind: 'delete-record', key }),
  'namespace.upserted': ({ namespace, publicRead, suspended }) => ({
    kind: 'put-namespace',
    name: namespace,
    namespace: { publicRead, suspended },
  }),
  'namespace.closing': ({ namespace }) => ({
    kind: 'put-namespace',
    name: namespace,
    namespace: { publicRead: false, suspended: true },
  }),
  // The log holds a record.deleted for each record before it; a view that missed one must still not keep its data.
  'namespace.deleted': ({ namespace }) => ({ kind: 'drop-namespace', name: namespace }),
  'token.minted': ({ digest, namespace, expiresAt }) => ({
    kind: 'put-token',
    digest,
    token: { namespace, expiresAt },
  }),
  'token.revoked': ({ digest }) => ({ kind: 'delete-token', digest }),
};

/** The operations of changes, in their order; a record upsert whose payload is blanked has none. */
export function viewOperations(changes: readonly ChangeBody[]): ViewOperation[] {
  const operations: ViewOperation[] = [];
  for (const change of changes) {
    const translate = TRANSLATION[change.type] as (change: ChangeBody) => ViewOperation | null;
    const operation = translate(change);
    if (operation !== null) operations.push(operation);
  }
  return operations;
}

/**
 * The operations of a page of a snapshot.
 *
 * @throws RangeError when a change is not an upsert: the present state has nothing to delete
 */
export function snapshotOperations(changes: readonly ChangeBody[]): ViewOperation[] {
  const operations = viewOperations(changes);
  for (const { kind } of operations) {
    if (!kind.startsWith('put-')) throw new RangeError('a snapshot is made of upserts');
  }
  return operations;
}

export function perform(target: ViewTarget, operation: ViewOperation): void {
  const act = target[operation.kind] as (operation: ViewOperation) => void;
  act(operation);
}
