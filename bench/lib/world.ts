/** The servers of one run. Each is started when the first part asks for it, and ends with the run. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Uqrp } from '../../test/support/server-process.ts';
import { ROOT, withoutBudget } from './changed-server.ts';
import { type Target, waitFor } from './compare.ts';
import { FIRST_NAME, startFilled, ZONE, zoneText } from './dataset.ts';
import { type Peer, signZone, startBind, startKnot, startNsd, startPowerDns } from './peers.ts';

export interface RunOptions {
  readonly rounds: number;
  /** Of one load. */
  readonly seconds: number;
  /** Another checkout of this repository, which takes part as `before`; null: none does. */
  readonly against: string | null;
}

/** A server of ours; `port` is that of UDP. */
export interface Side extends Target {
  readonly server: Uqrp;
}

/** `signed` and `plain` are the peers' data: our server answers both ways. */
export interface World extends RunOptions {
  /** `uqrp`, then `before` if another checkout takes part. */
  ours(): Promise<readonly Side[]>;
  /** The same without the limit of fresh signatures. */
  oursWithoutBudget(): Promise<readonly Side[]>;
  twoWorkers(): Promise<Side>;
  bind(data: 'signed' | 'plain'): Promise<Target>;
  /** BIND over TLS and HTTPS. */
  secureBind(transport: 'dot' | 'doh'): Promise<Target>;
  nsd(data: 'signed' | 'plain'): Promise<Target>;
  knot(data: 'signed' | 'plain'): Promise<Target>;
  powerDns(): Promise<Target>;
  remove(): Promise<void>;
}

export function openWorld(options: RunOptions): World {
  const running: { remove(): Promise<void> }[] = [];
  const started = new Map<string, Promise<unknown>>();
  const once = <T>(what: string, start: () => Promise<T>): Promise<T> => {
    const before = started.get(what) as Promise<T> | undefined;
    if (before !== undefined) return before;
    const starting = start();
    started.set(what, starting);
    return starting;
  };
  const side = async (name: string, env: NodeJS.ProcessEnv, root?: string): Promise<Side> => {
    const server = await startFilled(env, root);
    running.push(server);
    const own = { name, port: server.ports.dns, pid: server.pid, metricsPort: server.ports.http, server };
    await waitFor(own, FIRST_NAME);
    return own;
  };
  const checkouts = (env: (root: string) => NodeJS.ProcessEnv) => async (): Promise<readonly Side[]> => {
    const own = await side('uqrp', env(ROOT));
    return options.against === null
      ? [own]
      : [own, await side('before', env(options.against), options.against)];
  };
  const target = async (peer: Peer): Promise<Target> => {
    running.push(peer);
    const own = { name: peer.name, port: peer.port, pid: peer.child.pid! };
    await waitFor(own, FIRST_NAME);
    return own;
  };
  const signed = () => once('zone', async () => signZone(ZONE, zoneText()));
  const data = async (kind: 'signed' | 'plain') => (kind === 'signed' ? await signed() : zoneText());
  const ours = () =>
    once(
      'ours',
      checkouts(() => ({})),
    );
  /** With the certificate of ours. */
  const bind = (kind: 'signed' | 'plain') =>
    once(`bind ${kind}`, async () => {
      const tls = join((await ours())[0]!.server.dataDir, 'tls');
      const [cert, key] = ['cert.pem', 'key.pem'].map((file) => readFileSync(join(tls, file), 'utf8'));
      const port = kind === 'signed' ? 5411 : 5421;
      return target(startBind(ZONE, await data(kind), port, { cert: cert!, key: key! }));
    });
  return {
    ...options,
    ours,
    oursWithoutBudget: () => once('without budget', checkouts(withoutBudget)),
    twoWorkers: () => once('two workers', () => side('two workers', { UQRP_WORKERS: '2' })),
    bind,
    async secureBind(transport) {
      const { port, ...rest } = await bind('signed');
      return { ...rest, port: port + (transport === 'dot' ? 1 : 2) };
    },
    nsd: (kind) =>
      once(`nsd ${kind}`, async () =>
        target(startNsd(ZONE, await data(kind), kind === 'signed' ? 5414 : 5402)),
      ),
    knot: (kind) =>
      once(`knot ${kind}`, async () =>
        target(startKnot(ZONE, await data(kind), kind === 'signed' ? 5416 : 5403)),
      ),
    powerDns: () => once('pdns', async () => target(startPowerDns(ZONE, zoneText(), 5415))),
    async remove() {
      await Promise.all(running.map((one) => one.remove()));
    },
  };
}
