/** A command's connection to the control processes of a feed, with control's credentials. It opens no database. */
import { createPublicKey } from 'node:crypto';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { realRandom } from '../../base/chance.ts';
import { InputError } from '../../base/errors.ts';
import { systemFiles } from '../../base/files.ts';
import type { Clock } from '../../base/time.ts';
import { BusError } from '../../feed/bus/bus.ts';
import { feedVerifier } from '../../feed/message/keys.ts';
import { controlIdentity, controlRpc, type Rpc, RpcError } from '../../feed/message/rpc.ts';
import type { NodeReport } from '../../feed/nodes/node-states.ts';
import {
  askFeed,
  askForEpoch,
  askNodes,
  askToErase,
  demandSnapshot,
  type FeedStatus,
} from '../../feed/nodes/operator.ts';
import {
  type ControlCredentials,
  CredentialsError,
  isControl,
  parseCredentials,
  serversOf,
} from '../../feed/ports/credentials.ts';
import { FeedRefusedError } from '../../feed/ports/refusal.ts';

export interface ControlSettings {
  readonly credentials: ControlCredentials;
  /** `host:port`. */
  readonly servers: readonly string[];
}

/** What a control process tells and does. */
export interface FeedControl {
  nodes(): Promise<readonly NodeReport[]>;
  /** Log, stream, publisher and snapshots. */
  status(): Promise<FeedStatus>;
  /** @returns the number of the last change that it has */
  newSnapshot(): Promise<number>;
  newEpoch(): Promise<string>;
  /**
   * Erases keys, stream and snapshots, and makes a snapshot under the new key.
   * @param onErased nothing that was sent before can be read any more
   * @returns as `newSnapshot`
   */
  erase(onErased: () => void): Promise<number>;
}

/** Of a folder of `uqrp feed init`. @throws InputError for a file that cannot be used */
export function settingsOfFolder(folder: string): ControlSettings {
  const path = join(resolve(folder), 'control.creds');
  const credentials = readCredentials(path);
  if (!isControl(credentials)) throw new InputError(`${path} is the file of a node`);
  return { credentials, servers: credentials.servers };
}

function readCredentials(path: string): ReturnType<typeof parseCredentials> {
  try {
    return parseCredentials(systemFiles.read(path).toString());
  } catch (error) {
    if (error instanceof CredentialsError) throw new InputError(`${path}: ${error.message}`);
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    throw new InputError(
      `${path} cannot be read (${code}): give the folder that uqrp feed init made with --feed`,
    );
  }
}

/** Another control process, which may be the one that makes snapshots, uses the new key within two seconds. */
const NEW_KEY_MS = 3_000;
const CONNECT_MS = 5_000;

/** @throws InputError that says what cannot be reached, and what to do */
export async function withControl<T>(
  { credentials, servers }: ControlSettings,
  clock: Clock,
  run: (control: FeedControl) => Promise<T>,
): Promise<T> {
  const identity = controlIdentity(credentials.sign);
  const { openNatsBus } = await import('../../feed/bus/nats/nats-bus.ts');
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
    const rpc = controlRpc(identity, { bus, verifier, random: realRandom, clock });
    return await run(commandsOver(rpc));
  } catch (error) {
    throw reachFault(error, servers) ?? error;
  } finally {
    clearTimeout(timer);
    await bus.close();
  }
}

function commandsOver(rpc: Rpc): FeedControl {
  return {
    nodes: () => askNodes(rpc),
    status: () => askFeed(rpc),
    newSnapshot: () => demandSnapshot(rpc),
    newEpoch: () => askForEpoch(rpc),
    async erase(onErased) {
      await askToErase(rpc);
      onErased();
      await sleep(NEW_KEY_MS);
      return demandSnapshot(rpc);
    },
  };
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
