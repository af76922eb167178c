/** A command's connection to the control processes of a feed, with control's credentials. It opens no database. */
import { createPublicKey, randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { type Bus, BusError } from '../feed/bus/bus.ts';
import { type FeedVerifier, feedVerifier } from '../feed/message/message.ts';
import { serversOf } from '../feed/ports/credentials.ts';
import { FeedRefusedError } from '../feed/ports/refusal.ts';
import { controlExchange, controlIdentity } from '../feed/rpc/control-identity.ts';
import { type Exchange, ExchangeError } from '../feed/rpc/rpc.ts';
import type { ControlSettings } from './control-credentials.ts';
import { InputError } from './output.ts';

export interface ControlConnection {
  readonly bus: Bus;
  readonly verifier: FeedVerifier;
  readonly exchange: Exchange;
}

const CONNECT_MS = 5_000;

/** @throws InputError that says what cannot be reached, and what to do */
export async function withControl<T>(
  { credentials, servers }: ControlSettings,
  clock: Clock,
  run: (to: ControlConnection) => Promise<T>,
): Promise<T> {
  const identity = controlIdentity(credentials);
  if (identity === null) throw new InputError('control\'s credentials have a damaged key in "seed"');
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
    const exchange = controlExchange(identity, { bus, verifier, random: randomBytes, clock });
    return await run({ bus, verifier, exchange });
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
  if (error instanceof ExchangeError) return new InputError(`${error.message}: look at its log`);
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
