import type { FastifyInstance } from 'fastify';
import { LIMITS } from '../../src/base/limits.ts';
import type { LeaderLock } from '../../src/feed/ports/feed-store.ts';
import type { SnapshotMaker } from '../../src/feed/snapshots/snapshot-maker.ts';
import type { OutboundClient } from '../../src/outbound/outbound-client.ts';
import {
  type ControlTransparency,
  type ControlWorkOptions,
  startControlWork,
} from '../../src/process/control/control-work.ts';
import {
  type ControlFeed,
  type FeedWorkOptions,
  startFeedWork,
} from '../../src/process/control/feed-work.ts';
import { makeDeps, type UseCaseDeps } from '../../src/process/use-case-deps.ts';
import { startAutomaticRollover } from '../../src/process/zone-keys/automatic-rollover.ts';
import type { ZoneKeys } from '../../src/process/zone-keys/control-secrets.ts';
import type { Store } from '../../src/store/store.ts';
import type { TestLock } from '../support/feed/publisher-lock.ts';
import { TEST_SERVICE } from '../support/http/server-parts.ts';
import type {
  ArrivedDelivery,
  Common,
  EndpointAnswer,
  ProcessPorts,
  RestAnswer,
  RestRequest,
} from './common.ts';
import { type Database, isConnectionLost } from './database.ts';
import { KEY_DAYS, type Parent, seededKeys } from './edge/zone-keys.ts';
import {
  CONTROL_SECRET,
  controlSignature,
  listedNodes,
  secretsOfNodes,
  verifierOfNode,
  ZONE,
  zoneKeysOf,
} from './feed-secrets.ts';
import { InvariantError } from './invariants.ts';
import { type Machine, whileAlive } from './process.ts';
import { inject, injectStream, type OpenStream } from './rest.ts';
import type { ProcessTimers } from './scheduler.ts';
import { startSnapshots } from './snapshots.ts';

export interface ControlOptions extends Common {
  readonly machine: Machine;
  readonly database: Database;
  readonly lock: TestLock;
  /** Names of the nodes. */
  readonly nodes: readonly string[];
  /** Of the zone, whose keys are rolled automatically; null: they stay. */
  readonly parent: Parent | null;
  /** It makes snapshots. */
  readonly makesSnapshots: boolean;
  /** Of the transparency log; null: there is none. */
  readonly transparency: (ports: ProcessPorts) => ControlTransparency | null;
  /** Seconds before each attempt of a delivery. */
  readonly webhookSchedule: readonly number[];
  /** What customers' endpoints do with a delivery. */
  readonly deliver: (delivery: ArrivedDelivery) => EndpointAnswer;
  /** From 0 up to 1: how long messages of customers take. */
  readonly way: () => number;
  /** Sign-in codes, by mail. */
  readonly sendCode: (email: string, code: string) => void;
  /** Invitations to organizations, by mail. */
  readonly sendInvitation: (mail: { readonly to: string; readonly token: string }) => void;
  /** It begins to publish. */
  readonly onLeading: () => void;
  readonly wrong: (error: unknown) => void;
}

/** A control process: the REST API over the store with all its loops, and all that it does for nodes. */
export interface SimulatedControl {
  readonly name: string;
  readonly machine: Machine;
  isRunning(): boolean;
  feed(): ControlFeed | null;
  start(): void;
  kill(): void;
  makeSnapshot(): void;
  /** Nobody gets an answer to what is under way. Streams go on. */
  disconnect(): void;
  /** A request of a customer. Null: no answer came, because the process was killed, or paused for too long. */
  request(request: RestRequest): Promise<RestAnswer | null>;
  /**
   * An answer that goes on. Null: no answer came.
   * @param onText what comes, in order, and null when it ends: also with the process
   */
  stream(request: RestRequest, onText: (text: string | null) => void): Promise<OpenStream | null>;
  /** What an operator does by a command. Null: the process ended meanwhile. */
  operate<T>(run: (deps: UseCaseDeps) => Promise<T>): Promise<T | null>;
}

interface Running {
  readonly ports: ProcessPorts;
  readonly store: Store;
  readonly app: FastifyInstance;
  readonly deps: UseCaseDeps;
  readonly feed: ControlFeed;
  readonly snapshots: () => SnapshotMaker | null;
}

/** Until the database notices that the connection of a dead process is gone. */
const SESSION_MS = 200;
/** Between starts that fail, as a supervisor waits (deploy/systemd/restart-pauses.conf): twice as long each time. */
const RESTART = { firstMs: 200, mostMs: 30_000 } as const;
const CONFIG: Omit<ControlWorkOptions['config'], 'webhookSchedule'> = {
  zones: ['uqrp.net'],
  organizations: true,
  billing: false,
  trustedProxies: [],
  restRate: false,
  auditDays: 30,
};
const PUBLIC_URL = 'https://api.example.test';
/** A customer waits for so long. */
const PATIENCE_MS = 30_000;
/** Of a request or an answer on its way. */
const WAY_MS = 10;

export function createControl(options: ControlOptions): SimulatedControl {
  const { machine, scheduler, database, lock, counters, trace } = options;
  const { name } = machine;
  let running: Running | null = null;
  let starts = 0;
  let restartMs: number = RESTART.firstMs;
  /** Of the start that the supervisor has planned. */
  let cancelStart = (): void => {};
  /** Ends what waits for this process with null. */
  const waiting = new Set<() => void>();
  /** The same of streams that are open. */
  const streams = new Set<() => void>();

  async function open(ports: ProcessPorts): Promise<void> {
    const { timers, clock, random } = ports;
    const opened = await database.open(ports);
    if (timers.isDead()) return opened.close();
    closing.set(timers, () => opened.close());
    const { store } = opened;
    let snapshots: SnapshotMaker | null = null;
    const secret = CONTROL_SECRET;
    const deps = makeDeps(CONFIG, store, secret, clock, random);
    const zoneKeys = zoneKeysOf(store, clock);
    await zoneKeys.load(ZONE);
    const feed = await startFeedWork({
      ...feedParts(ports, options),
      store,
      secret,
      nodeKeys: secretsOfNodes(zoneKeys, clock),
      lock: whileAlive(lock.of(`${name}-${starts}`), timers) satisfies LeaderLock,
      openSnapshots({ keys }) {
        if (options.makesSnapshots) snapshots = startSnapshots(ports, store, keys, options);
        return { age: () => null, stop: async () => {} };
      },
    });
    if (options.parent !== null) startRollover(ports, zoneKeys, feed, options.parent);
    const work = startControlWork({
      ...workParts(ports, options),
      transparency: options.transparency(ports),
      store,
      secret,
      timers,
      random,
      api: { ...apiParts(options), nodes: feed.nodes },
    });
    work.app.addHook('onRequest', (request, _reply, done) => {
      // As the parser of a real connection says: without it the server would count what is left of each body until its end.
      request.raw.complete = true;
      done();
    });
    await work.app.ready();
    if (timers.isDead()) return;
    running = { ports, store, app: work.app, deps, feed, snapshots: () => snapshots };
    restartMs = RESTART.firstMs;
    trace(`${name} is up`);
  }

  const closing = new WeakMap<ProcessTimers, () => Promise<void>>();
  let timersNow: ProcessTimers | null = null;

  /** Runs in the process as soon as it can, and ends at the latest with it. */
  function within<T>(run: (running: Running) => Promise<T>): Promise<T | null> {
    const { promise, resolve } = Promise.withResolvers<T | null>();
    const done = (value: T | null): void => {
      for (const cancel of cancels) cancel();
      waiting.delete(lost);
      resolve(value);
    };
    const lost = (): void => done(null);
    const cancels = [scheduler.after(PATIENCE_MS, lost)];
    waiting.add(lost);
    const way = (): number => 1 + Math.floor(options.way() * WAY_MS);
    const arrival = scheduler.after(way(), () => {
      const found = running;
      if (found === null) lost();
      else
        void found.ports.timers.enter(() => {
          void run(found).then(
            (value) => void scheduler.after(way(), () => done(value)),
            (error: unknown) => {
              trace(`${name}: ${String(error)}`);
              lost();
            },
          );
        });
    });
    // With the process its connections end: no other one gets what is still on its way.
    cancels.push(arrival);
    return promise;
  }

  return {
    name,
    machine,
    isRunning: () => timersNow !== null,
    feed: () => running?.feed ?? null,
    start() {
      cancelStart();
      const ports = machine.boot();
      timersNow = ports.timers;
      starts++;
      open(ports).catch((error: unknown) => {
        // As a supervisor does: the database may be away at a start.
        trace(`${name} does not start: ${String(error)}`);
        if (ports.timers.isDead()) return;
        counters.count('control did not start');
        this.kill();
        cancelStart = scheduler.after(restartMs, () => this.start());
        restartMs = Math.min(restartMs * 2, RESTART.mostMs);
      });
    },
    kill() {
      // Who kills it starts it again: the supervisor does not meanwhile.
      cancelStart();
      if (timersNow === null) return;
      const timers = timersNow;
      machine.kill();
      timersNow = null;
      running = null;
      database.closes(closing.get(timers)?.() ?? Promise.resolve());
      for (const lost of [...waiting, ...streams]) lost();
      const dead = `${name}-${starts}`;
      scheduler.after(SESSION_MS, () => lock.expire(dead));
    },
    disconnect() {
      for (const lost of waiting) lost();
    },
    makeSnapshot() {
      running
        ?.snapshots()
        ?.make()
        .catch(() => {});
    },
    request: (request) => within(({ app }) => inject(app, request)),
    stream: (request, onText) =>
      within(async ({ app, ports: { timers } }) => {
        const lost = (): void => {
          if (streams.delete(lost)) onText(null);
        };
        streams.add(lost);
        const opened = await injectStream(app, request, (text) => {
          if (text === null) lost();
          else if (streams.has(lost)) onText(text);
        });
        const entered = (run: () => void) => (): void => void timers.enter(run);
        const { status, close, pause, resume } = opened;
        return { status, close: entered(close), pause: entered(pause), resume: entered(resume) };
      }),
    operate: (run) => within(({ deps }) => run(deps)),
  };
}

function startRollover(
  { timers, clock, random, counters, trace, name }: ProcessPorts,
  keys: ZoneKeys,
  feed: ControlFeed,
  parent: Parent,
): void {
  startAutomaticRollover({
    keys: seededKeys(keys, random),
    zones: [ZONE],
    days: KEY_DAYS,
    parentDs: async (zone) => [parent.follow(await keys.load(zone))],
    nodesBehind: (zone, tag) => feed.nodesBehind(zone, tag),
    clock,
    onStep(role, step) {
      counters.count(`rollover ${role} ${step}`);
      trace(`${name}: ${role} ${step}`);
    },
    onWaiting: (_role, _step, wait) => counters.count(`rollover waits for ${wait}`),
    onError: (error) => trace(`${name}: rollover: ${String(error)}`),
    timers,
  });
}

type Parts<T, K extends keyof T> = Omit<T, K>;

function feedParts(
  { bus, clock, timers, random, name }: ProcessPorts,
  { verifier, isWhole, counters, trace, nodes, onLeading }: ControlOptions,
): Parts<FeedWorkOptions, 'store' | 'secret' | 'nodeKeys' | 'lock' | 'openSnapshots'> {
  const listed = listedNodes(nodes);
  return {
    bus,
    clock,
    timers,
    random,
    nodes: { current: () => listed, onChange: () => () => {} },
    identity: controlSignature(isWhole),
    verifier,
    verifierOf: verifierOfNode(isWhole),
    providers: { ask: () => ({ kind: 'down' }) },
    connected: Promise.resolve(),
    onRefused: (reason) => counters.count(`refused ${reason}`),
    onExchangeFailed: () => counters.count('exchange failed'),
    onEvent(event) {
      if (event === 'leading') onLeading();
      counters.count(`publisher ${event}`);
      trace(`${name}: ${event}`);
    },
    onLeftOut: () => counters.count('usage left out'),
  };
}

function workParts(
  { clock, timers, name }: ProcessPorts,
  { counters, trace, deliver, wrong, webhookSchedule }: ControlOptions,
): Parts<ControlWorkOptions, 'store' | 'secret' | 'api'> {
  const outbound: OutboundClient = (request) =>
    new Promise((resolve) => {
      const answer = deliver({
        url: request.url.href,
        headers: request.headers,
        body: request.body ?? new Uint8Array(),
      });
      const afterMs = answer?.afterMs ?? Number.POSITIVE_INFINITY;
      timers.after(Math.min(LIMITS.webhookDeadlineMs, afterMs), () => {
        if (answer === null || afterMs >= LIMITS.webhookDeadlineMs)
          resolve({ kind: 'failed', fault: 'timeout' });
        else if ('fault' in answer) resolve({ kind: 'failed', fault: answer.fault });
        else {
          const headers = answer.retryAfter === undefined ? {} : { 'retry-after': answer.retryAfter };
          resolve({ kind: 'response', status: answer.status, headers, body: Buffer.alloc(0) });
        }
      });
    });
  return {
    config: { ...CONFIG, webhookSchedule },
    clock,
    outbound,
    mailer: null,
    onNotice: () => {},
    metrics: {
      http: ({ status }) => counters.count(`REST ${status}`),
      swept: (records) => counters.count('records swept', records),
      webhooks: {
        attempted: (error) => counters.count(`delivery attempt ${error}`),
        ended: (status, deliveries) => counters.count(`delivery ${status}`, deliveries),
        arrived: () => {},
        disabled: () => counters.count('webhook disabled'),
        enqueued: () => {},
      },
    },
    onScrubbed: () => {},
    onStoreFault: (event) => counters.count(`store fault ${event}`),
    onRequestFailed(error) {
      counters.count('REST failed');
      trace(`${name}: ${String(error)}`);
      if (!isConnectionLost(error))
        wrong(new InvariantError(`REST: ${String(error)}, with a database that answers`));
    },
  };
}

function apiParts({ sendCode, sendInvitation }: ControlOptions): Parts<ControlWorkOptions['api'], 'nodes'> {
  return {
    sendCode,
    sendInvitation,
    checkUrl: async () => null,
    publicUrl: () => PUBLIC_URL,
    service: TEST_SERVICE,
  };
}
