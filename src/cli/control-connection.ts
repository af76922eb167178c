/** Which feed a command speaks to: the folder of `uqrp feed init`, or the variables. */

import { createPublicKey, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '../base/time.ts';
import { BusError } from '../feed/bus/bus.ts';
import { feedVerifier } from '../feed/message/keys.ts';
import { controlIdentity, controlRpc, type Rpc, RpcError } from '../feed/message/rpc.ts';
import {
  type ControlCredentials,
  CredentialsError,
  isControl,
  parseCredentials,
  serversOf,
} from '../feed/ports/credentials.ts';
import { FeedRefusedError } from '../feed/ports/refusal.ts';
import { readEnvironment } from '../ops/config/env.ts';
import { FEED, feedServers } from '../ops/config/variables.ts';
import { commandConfig } from './context.ts';
import { InputError, UsageError } from './output.ts';

export interface FeedOption {
  /** Folder of `uqrp feed init`; left out: UQRP_FEED_CREDENTIALS. */
  readonly feed?: string;
}

export interface ControlSettings {
  readonly credentials: ControlCredentials;
  /** `host:port`. */
  readonly servers: readonly string[];
}

/** @throws UsageError when neither is given; InputError for a file that cannot be used */
export function controlSettings({ feed }: FeedOption): ControlSettings {
  if (feed !== undefined) {
    const path = join(resolve(feed), 'control.creds');
    const credentials = readCredentials(path);
    if (!isControl(credentials)) throw new InputError(`${path} is the file of a node`);
    // With UQRP_FEED_URL, a broker behind another address than the one that the folder was made for.
    return { credentials, servers: urlServers() ?? credentials.servers };
  }
  const config = commandConfig();
  if (config.feed?.end === 'control') return config.feed;
  throw new UsageError(
    'give --feed DIR, the folder that uqrp feed init made, or set UQRP_FEED_CREDENTIALS to its control.creds',
  );
}

/** @throws UsageError for a value that is none */
function urlServers(): readonly string[] | null {
  const url = readEnvironment().UQRP_FEED_URL ?? '';
  if (url === '') return null;
  const servers = feedServers(url);
  if (servers === null) throw new UsageError(`UQRP_FEED_URL takes ${FEED.UQRP_FEED_URL.expects}`);
  return servers;
}

function readCredentials(path: string): ReturnType<typeof parseCredentials> {
  try {
    return parseCredentials(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof CredentialsError) throw new InputError(`${path}: ${error.message}`);
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    throw new InputError(
      `${path} cannot be read (${code}): give the folder that uqrp feed init made with --feed`,
    );
  }
}

// A command's connection to the control processes of a feed, with control's credentials. It opens no database.

const CONNECT_MS = 5_000;

/** @throws InputError that says what cannot be reached, and what to do */
export async function withControl<T>(
  { credentials, servers }: ControlSettings,
  clock: Clock,
  run: (rpc: Rpc) => Promise<T>,
): Promise<T> {
  const identity = controlIdentity(credentials.sign);
  const { openNatsBus } = await import('../feed/bus/nats/nats-bus.ts');
  const connected = Promise.withResolvers<void>();
  let lastError: unknown = null;
  const bus = openNatsBus({
    ...serversOf(credentials),
    servers,
    streams: null,
    onError(error) {
      lastError = error;
    },
  });
  bus.onState((state) => {
    if (state === 'connected') connected.resolve();
  });
  const timer = setTimeout(() => connected.reject(new BusError('disconnected', lastError)), CONNECT_MS);
  try {
    await connected.promise;
    const verifier = feedVerifier(credentials.verify.map((pem) => createPublicKey(pem)));
    const rpc = controlRpc(identity, { bus, verifier, random: randomBytes, clock });
    return await run(rpc);
  } catch (error) {
    throw reachFault(error, servers) ?? error;
  } finally {
    clearTimeout(timer);
    await bus.close();
  }
}

/** Null for an error that is not about the way to control. */
function reachFault(error: unknown, servers: readonly string[]): InputError | null {
  if (error instanceof FeedRefusedError) {
    return new InputError(
      `the answer was refused (${error.reason}): these credentials are not those of the control process that answered`,
    );
  }
  if (error instanceof RpcError) return new InputError(`${error.message}: look at its log`);
  if (!(error instanceof BusError)) return null;
  const at = servers.join(', ');
  switch (error.reason) {
    case 'no_responders':
      return new InputError(
        `no control process answers: start one with the same credentials. The broker at ${at} runs`,
      );
    case 'timeout':
      return new InputError(
        'no control process answers: start one with the same credentials. If one runs, look at its log before you run the command again: it may have been done',
      );
    default:
      return new InputError(
        `the broker at ${at} cannot be reached${causeOf(error)}: start nats-server, or give its address in UQRP_FEED_URL`,
      );
  }
}

/** A code like ECONNREFUSED; messages may quote more than an operator needs. */
function causeOf({ cause }: BusError): string {
  const { message = '' } = (cause ?? {}) as { readonly message?: string };
  const code = /\bE[A-Z]{4,}\b/.exec(message)?.[0];
  return code === undefined ? '' : ` (${code})`;
}
