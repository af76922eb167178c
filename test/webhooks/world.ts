import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSelfSigned } from '../../src/base/certificates.ts';
import { type Answers, startNameServer } from '../support/name-server.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import type { Arrival, FromReceiver, ToReceiver } from './receiver.ts';

/** Addresses that look public, within the network that the test has made for itself. */
export const NAME_SERVER = '45.90.0.53';
export const RECEIVER = '45.90.0.80';
export const ADDRESSES = [NAME_SERVER, RECEIVER] as const;

export const DOMAIN = 'hooks.example.com';
const KINDS = ['ok', 'fail', 'hang', 'move'] as const;
type Kind = (typeof KINDS)[number];

export interface World {
  /** Environment for a server that knows the name server and trusts the receiver's certificate. */
  readonly env: NodeJS.ProcessEnv;
  url(kind: Kind, n: number): string;
  /** What arrived since it was last asked. */
  take(): Promise<readonly Arrival[]>;
  /** Of each request that arrived since it was last asked: when, and milliseconds since its event. From the second time on. */
  times(): Promise<Float64Array>;
  /** How many requests arrived in all. */
  count(): Promise<number>;
  start(env?: NodeJS.ProcessEnv, dataDir?: string): Promise<Uqrp>;
  close(): Promise<void>;
}

/** A name server, the customers' endpoints, and the way to start a server among them. @param hosts endpoints of each kind */
export async function openWorld(
  hosts: number,
  special: Readonly<Record<string, Answers>> = {},
): Promise<World> {
  const names = KINDS.flatMap((kind) => Array.from({ length: hosts }, (_, n) => `${kind}-${n}.${DOMAIN}`));
  const known = new Set(names);
  const nameServer = await startNameServer(NAME_SERVER, 53, (host, nth) => {
    const own = special[host];
    if (own !== undefined) return own(host, nth);
    return known.has(host) ? [RECEIVER] : null;
  });
  const tls = makeSelfSigned({ hosts: [`*.${DOMAIN}`], now: Date.now() });
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-hooks-'));
  const ca = join(dir, 'ca.pem');
  writeFileSync(ca, tls.cert);
  // Without the test runner's own variable, or it would take itself for a test.
  const { NODE_TEST_CONTEXT: _, ...childEnv } = process.env;
  const child = fork(new URL('./receiver.ts', import.meta.url), { serialization: 'advanced', env: childEnv });
  await ask(child, { type: 'listen', address: RECEIVER, port: 443, ...tls });
  const env = { UQRP_RESOLVERS: NAME_SERVER, NODE_EXTRA_CA_CERTS: ca };
  return {
    env,
    url: (kind, n) => `https://${kind}-${n}.${DOMAIN}/in`,
    take: async () => {
      const told = await ask(child, { type: 'take' });
      return told.type === 'arrivals' ? told.arrivals : [];
    },
    times: async () => {
      const told = await ask(child, { type: 'times' });
      return told.type === 'times' ? told.times : new Float64Array();
    },
    count: async () => {
      const told = await ask(child, { type: 'count' });
      return told.type === 'count' ? told.count : 0;
    },
    start: (more = {}, dataDir) => startUqrp({ ...env, ...more }, dataDir),
    async close() {
      child.disconnect();
      await once(child, 'exit');
      nameServer.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function ask(child: ChildProcess, message: ToReceiver): Promise<FromReceiver> {
  const answer = once(child, 'message') as Promise<[FromReceiver]>;
  child.send(message);
  const [told] = await answer;
  return told;
}
