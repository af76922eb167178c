/** The one file that an end needs: where the broker is, how to connect, and keys to verify and decrypt what comes. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

export interface FeedCredentials {
  readonly version: 1;
  readonly name: string;
  /** `host:port`. */
  readonly servers: readonly string[];
  /** PEM. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** nkey. */
  readonly seed: string;
  /** PEM: Ed25519 keys that sign the feed; the present one, and during a rotation another. */
  readonly verify: readonly string[];
  /** PEM: X25519, for the hourly keys of this node; null for control. */
  readonly decrypt: string | null;
  /** PEM: Ed25519, which signs the feed; null for a node. */
  readonly sign: string | null;
}

/** The control side signs the feed. */
export type ControlCredentials = FeedCredentials & { readonly sign: string };
/** A node decrypts what is meant for it. */
export type NodeCredentials = FeedCredentials & { readonly decrypt: string };

export function isControl(credentials: FeedCredentials): credentials is ControlCredentials {
  return credentials.sign !== null;
}

export function isOfNode(credentials: FeedCredentials): credentials is NodeCredentials {
  return credentials.decrypt !== null;
}

/** A credentials file that cannot be used. The message names the member and what to do, and nothing of its content. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
}

export function printCredentials(credentials: FeedCredentials): string {
  return `${JSON.stringify(credentials, null, 2)}\n`;
}

/** @throws CredentialsError for a file that is cut short, of a later version, or lacks something */
export function parseCredentials(text: string): FeedCredentials {
  const found = membersOf(text);
  if (found.version !== 1) throw fault('has another version: make it with this release');
  const name = textOf(found, 'name');
  if (name !== CONTROL_NAME && !isNodeName(name)) throw fault('has no valid name');
  const isNode = name !== CONTROL_NAME;
  const credentials: FeedCredentials = {
    version: 1,
    name,
    servers: textsOf(found, 'servers'),
    ca: textOf(found, 'ca'),
    cert: textOf(found, 'cert'),
    key: textOf(found, 'key'),
    seed: textOf(found, 'seed'),
    verify: textsOf(found, 'verify'),
    decrypt: isNode ? textOf(found, 'decrypt') : null,
    sign: isNode ? null : textOf(found, 'sign'),
  };
  for (const pem of credentials.verify) keyOf('verify', 'ed25519', () => createPublicKey(pem));
  if (credentials.decrypt !== null)
    keyOf('decrypt', 'x25519', () => createPrivateKey(credentials.decrypt ?? ''));
  if (credentials.sign !== null) keyOf('sign', 'ed25519', () => createPrivateKey(credentials.sign ?? ''));
  return credentials;
}

function fault(what: string): CredentialsError {
  return new CredentialsError(
    `the credentials file of the feed ${what}. "uqrp node add" or "uqrp feed init" makes one.`,
  );
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which is secret.
    throw fault('is not JSON: perhaps it was cut short');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw fault('is not a JSON object');
  return value as Record<string, unknown>;
}

function textOf(found: Readonly<Record<string, unknown>>, member: string): string {
  const value = found[member];
  if (typeof value !== 'string' || value === '') throw fault(`lacks "${member}"`);
  return value;
}

function textsOf(found: Readonly<Record<string, unknown>>, member: string): readonly string[] {
  const value = found[member];
  const isList = Array.isArray(value) && value.length > 0;
  if (!isList || !value.every((item) => typeof item === 'string' && item !== ''))
    throw fault(`lacks "${member}"`);
  return value as string[];
}

function keyOf(member: string, type: string, read: () => KeyObject): void {
  let key: KeyObject;
  try {
    key = read();
  } catch {
    throw fault(`has a damaged key in "${member}"`);
  }
  if (key.asymmetricKeyType !== type) throw fault(`has a key of another kind in "${member}"`);
}

/** Where the broker is, and as whom to connect. */
interface BrokerAddress {
  readonly servers: readonly string[];
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  readonly seed: string;
  readonly inboxPrefix: string;
}

/** How to connect with these credentials. */
export function serversOf({ name, servers, ca, cert, key, seed }: FeedCredentials): BrokerAddress {
  return { servers, tls: { ca, cert, key }, seed, inboxPrefix: inboxPrefix(name) };
}

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
