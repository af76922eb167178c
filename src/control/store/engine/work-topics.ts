/** Work that a unit leaves for a loop of some process: deliveries that are due, namespaces that are to be deleted. */
export const WORK_TOPICS = ['deliveries', 'deletions'] as const;
export type WorkTopic = (typeof WORK_TOPICS)[number];
