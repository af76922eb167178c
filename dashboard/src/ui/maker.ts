import type { Maker } from '../../../sdk/src/uqrp-sdk.ts';

/** Who made a query token or a webhook, in a list: the address where the reader may see it. */
export function makerText({ created_by: maker }: { readonly created_by: Maker | null }): string {
  return maker?.email ?? maker?.user_id ?? '–';
}
