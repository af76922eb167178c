/**
 * What a unit leaves for loops of some process: deliveries that are due, namespaces that are to be deleted, rows of the query log
 * that open streams read, and credentials that ended.
 */
export const WORK_TOPICS = ['deliveries', 'deletions', 'query_log', 'credentials'] as const;
export type WorkTopic = (typeof WORK_TOPICS)[number];
