import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type NatsConnection, nkeyAuthenticator } from '@nats-io/transport-node';
import type { Bus } from '../../../src/feed/bus/bus.ts';
import { openNatsBus } from '../../../src/feed/bus/nats/nats-bus.ts';
import {
  type FeedCredentials,
  inboxPrefix,
  parseCredentials,
  serversOf,
} from '../../../src/feed/ports/credentials.ts';
import { runCli } from '../command.ts';
import { freePort } from '../free-port.ts';
import { type NatsServer, runNats } from './bus/nats-server.ts';
import { SMALL_STREAMS } from './bus/nats-world.ts';

/** A broker that runs with the files of `uqrp feed init` and `uqrp node add`. */
export interface BrokerFolder {
  /** What `feed init` made. */
  readonly dir: string;
  readonly server: NatsServer;
  credentials(name: string): FeedCredentials;
  /** Runs `uqrp ARGS --feed DIR`. @returns what it printed */
  run(...args: readonly string[]): Promise<string>;
  open(credentials: FeedCredentials, onError?: (error: unknown) => void): Bus;
  close(): Promise<void>;
}

/** @param nodes their names */
export async function brokerFolder(...nodes: readonly string[]): Promise<BrokerFolder> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-broker-'));
  const dir = join(folder, 'feed');
  const listen = `127.0.0.1:${await freePort()}`;
  const known = new Map<string, FeedCredentials>();
  const buses: Bus[] = [];

  async function uqrp(...args: readonly string[]): Promise<string> {
    const { code, out, errors } = await runCli(args, {});
    assert.equal(code, 0, errors);
    return out;
  }
  const run = (...args: readonly string[]): Promise<string> => uqrp(...args, '--feed', dir);

  await uqrp('feed', 'init', dir, '--listen', listen);
  known.set('control', parseCredentials(readFileSync(join(dir, 'control.creds'), 'utf8')));
  for (const name of nodes) known.set(name, parseCredentials(await run('node', 'add', name)));
  const server = await runNats(join(dir, 'nats-server.conf'), listen, folder);
  return {
    dir,
    server,
    run,
    credentials(name) {
      const found = known.get(name);
      if (found === undefined) throw new Error(`no credentials for ${name}`);
      return found;
    },
    open(credentials, onError = () => {}) {
      const streams = credentials.sign === null ? null : SMALL_STREAMS;
      const bus = openNatsBus({ ...serversOf(credentials), streams, onError });
      buses.push(bus);
      return bus;
    },
    async close() {
      await Promise.all(buses.map((bus) => bus.close()));
      await server.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A connection without what `Bus` allows: what somebody does who has taken over a node. */
export function rawConnection(
  { servers, ca, cert, key, seed, name }: FeedCredentials,
  tls: { ca: string; cert?: string; key?: string } = { ca, cert, key },
): Promise<NatsConnection> {
  return connect({
    servers: [...servers],
    tls,
    authenticator: nkeyAuthenticator(Buffer.from(seed)),
    inboxPrefix: inboxPrefix(name),
    reconnect: false,
    timeout: 5_000,
  });
}
