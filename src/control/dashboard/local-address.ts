import type { IncomingMessage } from 'node:http';
import { addressSet } from '../../core/network/address.ts';

type Versioned = Pick<IncomingMessage, 'headers' | 'httpVersionMinor'>;

const isLoopback = addressSet(['127.0.0.0/8', '::1']);
/** An address in `Host`, and the port. */
const ADDRESS_HOST = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<v4>[0-9.]+))(?<port>:\d{1,5})?$/i;

export interface LocalRequest {
  /** The `Host` header. */
  readonly host: string | undefined;
  /** Of the peer. */
  readonly remoteAddress: string | undefined;
  readonly isForwarded: boolean;
}

/** What proxies add. nginx adds none of them by itself, but speaks HTTP/1.0 then. */
const FORWARDED = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];

/** Whether a proxy passed the request on. No browser speaks HTTP/1.0. */
export function isForwarded({ headers, httpVersionMinor }: Versioned): boolean {
  return httpVersionMinor === 0 || FORWARDED.some((name) => headers[name] !== undefined);
}

/**
 * The origin to use in place of `http://127.0.0.1:PORT`: browsers refuse passkeys at an address.
 * @param publicUrl a sign-in succeeds at no other origin
 * @returns null unless the client is on this machine, named it by its loopback address, and `publicUrl` has that origin
 */
export function localhostOrigin(
  { host, remoteAddress, isForwarded }: LocalRequest,
  publicUrl: string,
): string | null {
  // Behind a proxy on this machine the client may be anywhere.
  if (isForwarded || remoteAddress === undefined || !isLoopback(remoteAddress)) return null;
  const { v4, v6, port = '' } = ADDRESS_HOST.exec(host ?? '')?.groups ?? {};
  const address = v4 ?? v6;
  if (address === undefined || !isLoopback(address)) return null;
  const local = `http://localhost${port}`;
  return URL.parse(local)?.origin === new URL(publicUrl).origin ? local : null;
}
