import type { ApiKeyResource, ApiOperation } from '../../../../sdk/src/uqrp-sdk.ts';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { t } from '../../text/text.ts';

type Scopes = ApiKeyResource['scopes'];

/** What a key can do, in sentences. Empty lists mean: both operations, all namespaces. */
export function keyWords({ operations, namespaces }: Scopes): readonly string[] {
  const can = { operation: operationWords(operations) };
  const names = new Intl.ListFormat('en').format(namespaces);
  return [
    namespaces.length === 0 ? t('apiKeys.canAll', can) : t('apiKeys.canSome', { ...can, names }),
    namespaces.length === 0 ? '' : t('apiKeys.notNamespaces'),
    t('apiKeys.notAccount'),
  ].filter((sentence) => sentence !== '');
}

/** For a cell of the list. */
export function operationWords(operations: readonly ApiOperation[]): string {
  const [reads, writes] = [mayDo(operations, 'read'), mayDo(operations, 'write')];
  if (reads && writes) return t('apiKeys.readWrite');
  return t(reads ? 'apiKeys.read' : 'apiKeys.write');
}

function mayDo(operations: readonly ApiOperation[], one: ApiOperation): boolean {
  return operations.length === 0 || operations.includes(one);
}

/** A first request with the key, which stands in a variable of the shell. A key that only writes cannot list. */
export function keyCommand(api: string, { operations, namespaces }: Scopes): string {
  const namespace = namespaces[0];
  if (mayDo(operations, 'read')) {
    const filter = namespace === undefined ? '' : `&namespace=${encodeURIComponent(namespace)}`;
    return `${keyedCurl()} -s "${api}/records?limit=10${filter}"`;
  }
  // "aGVsbG8=" is "hello".
  const record = { record: { key: `greeting.${namespace ?? 'NAMESPACE'}.v1`, data: 'aGVsbG8=' } };
  return `${keyedCurl()} -s "${api}/records" \\\n  -H 'Content-Type: application/json' -d '${JSON.stringify(record)}'`;
}

export function hasEnded({ expires_at: end }: Pick<ApiKeyResource, 'expires_at'>, now: number): boolean {
  return end !== null && Date.parse(end) <= now;
}

const DAY_MS = 86_400_000;

/** The end that was chosen, as the API takes it. @param days null: never */
export function endAfter(days: number | null, now: number): string | null {
  return days === null ? null : new Date(now + days * DAY_MS).toISOString();
}
