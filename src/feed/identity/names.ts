/** Names of nodes. They are parts of subjects, so they have no dot and no wildcard. */
const NODE_NAME = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

/** Reserved for the control side. */
export const CONTROL_NAME = 'control';

export function isNodeName(text: string): boolean {
  return NODE_NAME.test(text) && text !== CONTROL_NAME;
}

/** Begins the subjects of answers to one end: no other end may listen there. */
export function inboxPrefix(name: string): string {
  return `_INBOX.${name}`;
}
