/** What the server offers: zones, endpoints, limits, features. */
import type { Meta } from '../../../sdk/src/uqrp-sdk.ts';
import { type Resource, useResource } from '../data/resource.ts';
import { api } from './client.ts';

/** Milliseconds; the server lets it be kept for five minutes. */
const FRESH_MS = 300_000;

export function useMeta(): Resource<Meta> {
  return useResource('meta', (signal) => api.meta({ signal }), { freshMs: FRESH_MS });
}
