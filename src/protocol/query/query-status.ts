/**
 * What became of a query: answered with records, empty, empty because the record has expired, malformed or failed,
 * refused for lack of authorisation. Stored and shown under these names; statistics use the position as an index.
 */
export const QUERY_STATUSES = ['hit', 'miss', 'expired', 'error', 'refused'] as const;
export type QueryStatus = (typeof QUERY_STATUSES)[number];
