/** Where the object of an audit row can be seen. */
import type { AuditedObject } from '../../../../sdk/src/uqrp-sdk.ts';

/** Null: there is no page for it. A record leads to its history, also when it is deleted. */
export function objectPath({ kind, id, name, namespace }: AuditedObject): string | null {
  const home = namespace === null ? null : `/namespaces/${encodeURIComponent(namespace)}`;
  switch (kind) {
    case 'record':
      return name === null ? home : `${home ?? '/records'}?history=${encodeURIComponent(name)}`;
    case 'namespace':
      return home;
    case 'query_token':
      return home === null ? null : `${home}?tab=tokens`;
    case 'webhook':
      return id === null ? '/webhooks' : `/webhooks/${encodeURIComponent(id)}`;
    case 'api_key':
      return '/api-keys';
    case 'session':
    case 'passkey':
      return '/account';
    default:
      return null;
  }
}
