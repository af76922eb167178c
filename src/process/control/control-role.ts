/** The control role of a process: the REST API over the store, and the background work that keeps the store within its bounds. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { realRandom } from '../../base/chance.ts';
import { freeOctets, systemFiles } from '../../base/files.ts';
import { createReportLimits } from '../../base/lifecycle/report-limits.ts';
import { LIMITS } from '../../base/limits.ts';
import { addressSet } from '../../base/network/address.ts';
import type { Clock } from '../../base/time.ts';
import {
  type CodeOutbox,
  codeLine,
  codeMail,
  invitationLine,
  invitationMail,
  openCodeOutbox,
} from '../../control/accounts/mails.ts';

import type { ServiceFacts } from '../../control/api-deps.ts';
import type { SignerReport } from '../../control/transparency/signer.ts';
import type { Nodes } from '../../control/usage/propagation.ts';
import { oldestDueSeconds } from '../../control/webhooks/dispatcher.ts';
import type { FreeMemory } from '../../http/body-budget.ts';
import { clientAddress } from '../../http/connections.ts';
import { serveDashboard } from '../../http/pages/dashboard.ts';
import { openDocuments } from '../../http/pages/documents.ts';
import { readDashboard } from '../../http/pages/files.ts';
import { DEFAULT_NAMES, type ServerNames } from '../../http/pages/fill.ts';
import type { FrontFacts } from '../../http/pages/front.ts';
import type { ServeOther } from '../../http/server.ts';
import type { Config } from '../../ops/config/config.ts';
import type { Secret } from '../../ops/config/data-dir.ts';
import { releaseVersion } from '../../ops/config/version.ts';
import type { Log } from '../../ops/telemetry/log.ts';
import type { Metrics } from '../../ops/telemetry/metrics.ts';
import { makeResolve } from '../../outbound/connection.ts';
import { openMailer } from '../../outbound/mailer.ts';
import { startOutboundThreads } from '../../outbound/outbound-thread.ts';
import { checkWebhookUrl } from '../../outbound/url-check.ts';
import { makeServices, type ServiceContext } from '../../services/list.ts';
import { isDiskFull } from '../../store/engine/engine-errors.ts';
import type { Store } from '../../store/store.ts';
import { openLogKeys, policyOfSettings, witnessClient } from '../zone-keys/log-key.ts';
import { type ControlTransparency, type StoreFault, startControlWork } from './control-work.ts';

export interface ControlRole {
  /** Not listening yet. */
  readonly app: FastifyInstance;
  /** Seconds that the longest waiting webhook has been due. */
  webhookOldestDue(): Promise<number>;
  /** How the transparency log is; null: there is none. */
  transparency(): SignerReport | null;
  /** Starts no new background work; requests go on. `stop` waits for the work that has started. */
  quiesce(): void;
  stop(): Promise<void>;
}

export interface ControlRoleOptions {
  readonly config: Config;
  readonly store: Store;
  readonly secret: Secret;
  readonly clock: Clock;
  readonly log: Log;
  readonly dnsPorts: ServiceFacts['dnsPorts'];
  /** DNS on the REST port: returns the name of the resource that it answers, null for other requests. Null: no DNS in this process. */
  readonly dns:
    | ((request: IncomingMessage, response: ServerResponse, address: string) => string | null)
    | null;
  readonly nodes: Nodes;
  readonly metrics: Pick<Metrics, 'http' | 'swept' | 'unerased' | 'webhooks'>;
  readonly freeMemory: FreeMemory;
}

/** Threads that send webhooks. Each starts when it is first needed. */
const OUTBOUND_THREADS = 2;

/** Of the checkout or of the package. `dashboard/build.ts` writes to `dashboard/dist` in it. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

function portOf(app: FastifyInstance): number {
  const address = app.server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Asks for a port until there is one: Node asks the system each time, and each request that makes a resource needs it. */
function onceListening(ask: () => number): () => number {
  let port = 0;
  return () => {
    if (port === 0) port = ask();
    return port;
  };
}

/** DNS over HTTP, then the dashboard. */
function otherPaths(options: ControlRoleOptions, publicUrl: () => string): ServeOther {
  const { config, dns, dnsPorts } = options;
  const addressOf = clientAddress(config.trustedProxies);
  const documents = openDocuments(ROOT, () => serverNames(config, dnsPorts(), publicUrl()));
  const facts = { ...frontFacts(options, publicUrl), documents: documents?.paths ?? [] };
  const pages = serveDashboard(readDashboard(join(ROOT, 'dashboard/dist')), publicUrl, facts, documents);
  return async (request, reply) => {
    const forwarded = request.headers['x-forwarded-for'];
    const address = addressOf(request.socket.remoteAddress, forwarded?.toString());
    const resource = dns?.(request.raw, reply.raw, address ?? '') ?? null;
    if (resource === null) return pages(request, reply);
    reply.hijack();
    return resource;
  };
}

function frontFacts(
  { config, dnsPorts }: ControlRoleOptions,
  publicUrl: () => string,
): Omit<FrontFacts, 'documents'> {
  return {
    isOn: config.front,
    version: releaseVersion(),
    isPublic: config.publicUrl !== null && !isLocal(new URL(config.publicUrl).hostname),
    zones: config.zones,
    isSigned: config.dnssec !== 'off',
    dns() {
      const ports = dnsPorts();
      return ports && { host: queryHost(config, publicUrl()), port: ports.dns };
    },
    services: new Map(
      makeServices(NO_DATA).map(({ resource, about: { schema, examples, meanings = [] } }) => [
        resource,
        { title: schema.title, description: schema.description, examples, meanings },
      ]),
    ),
  };
}

/** The pages need the descriptions of the services alone: nobody asks these. */
const NO_DATA: ServiceContext = {
  places: { find: () => null },
  geoip: { current: () => null },
  providers: { has: () => false, ask: () => ({ kind: 'down' }) },
  exchanges: () => null,
  btc: false,
};

function isLocal(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    addressSet(['127.0.0.0/8', '::1'])(hostname.replaceAll(/[[\]]/g, ''))
  );
}

/** The host in commands. `dig @localhost` asks ::1 first, where this server does not listen unless it is told to. */
function queryHost({ host: listens }: Config, origin: string): string {
  const name = new URL(origin).hostname.replace(/^\[(.+)\]$/, '$1');
  return name === 'localhost' && !listens.includes(':') ? '127.0.0.1' : name;
}

/** What the documents say in place of the default names. */
function serverNames(
  config: Config,
  ports: ReturnType<ControlRoleOptions['dnsPorts']>,
  origin: string,
): ServerNames {
  const { zones, nameServers } = config;
  const zone = zones[0] ?? DEFAULT_NAMES.zone;
  const host = queryHost(config, origin);
  const nameServer = nameServers[0] === undefined ? zone : `${nameServers[0].label}.${zone}`;
  return { zone, origin, dns: ports && { host, ...ports }, nameServer };
}

function serviceFacts({ config, dnsPorts }: ControlRoleOptions): ServiceFacts {
  return {
    version: releaseVersion(),
    zones: config.zones,
    dnsHost: (origin) => queryHost(config, origin),
    dnsPorts,
    webhookSchedule: config.webhookSchedule,
    features: {
      organizations: config.organizations,
      datasets: config.datasets,
      datasets_asof: config.datasets && config.datasetsAsOf,
      billing: config.billing,
      passkeys: true,
      sign_up: true,
      rate_limits: config.restRate,
    },
  };
}

/**
 * Reports what background work and requests meet in the store: of each kind the first fault, then ever fewer, because loops try again every
 * second. A full disk has its own event, whichever of them it made fail.
 */
export function storeFaults({
  config,
  store,
  clock,
  log,
}: {
  readonly config: Pick<Config, 'dataDir'>;
  readonly store: Pick<Store, 'engine'>;
  readonly clock: Clock;
  readonly log: Log;
}): (event: StoreFault) => (error: unknown) => void {
  const isDue = createReportLimits<StoreFault | 'store.full'>(clock);
  const isOurs = store.engine === 'sqlite';
  return (event) => (error) => {
    if (!isDiskFull(error)) {
      if (isDue(event)) log.event(event, {}, error);
    } else if (isDue('store.full')) {
      const free = isOurs ? freeOctets(config.dataDir) : Number.NaN;
      log.event('store.full', { path: isOurs ? 'uqrp.sqlite' : null, free }, error);
    }
  };
}

/** Tells of a process that keeps deleted data in the files of SQLite: by a metric, and after `erasureHeldSeconds` by the log. */
export function unerasedReport({
  config,
  store,
  clock,
  log,
  metrics,
}: {
  readonly config: Pick<Config, 'dataDir'>;
  readonly store: Pick<Store, 'engine'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'unerased'>;
}): (heldMs: number) => void {
  const isDue = createReportLimits<'unerased'>(clock);
  return (heldMs) => {
    if (store.engine !== 'sqlite') return;
    const seconds = Math.floor(heldMs / 1000);
    metrics.unerased(seconds);
    if (seconds < LIMITS.erasureHeldSeconds || !isDue('unerased')) return;
    const octets = systemFiles.facts(join(config.dataDir, 'uqrp.sqlite-wal'))?.octets ?? 0;
    log.event('store.unerased', { seconds, octets });
  };
}

/** The signer of the transparency log: its witnesses, its key, and what is logged of it. */
function transparencyOf(
  { config, store, secret, clock, log }: ControlRoleOptions,
  resolve: ReturnType<typeof makeResolve>,
): ControlTransparency | null {
  const { datasetsLog } = config;
  if (datasetsLog === null) return null;
  const isDue = createReportLimits<'failing'>(clock);
  const keys = openLogKeys({ dataDir: config.dataDir, store, secret });
  let told: SignerReport['state'] = 'current';
  return {
    policy: policyOfSettings(datasetsLog),
    send: witnessClient(datasetsLog, resolve),
    findKey: () => keys.find(),
    onReport({ state, entries, signed, published }) {
      if (state === told) return;
      told = state;
      log.event('transparency.state', { state, entries, signed, published });
    },
    onError(error) {
      if (isDue('failing')) log.event('transparency.failing', {}, error);
    },
  };
}

export function openControlRole(options: ControlRoleOptions): ControlRole {
  const { config, store, clock, log } = options;
  const faultsOf = storeFaults(options);
  const resolve = makeResolve(config.resolvers);
  const outbound = startOutboundThreads(OUTBOUND_THREADS, {
    entry: new URL('../outbound-worker.ts', import.meta.url),
    settings: { resolvers: config.resolvers, deadlineMs: LIMITS.webhookDeadlineMs },
    onExit: () => log.event('outbound.exited', {}),
  });
  const mailer = config.mail === null ? null : openMailer(config.mail);
  const outbox: CodeOutbox | null =
    mailer &&
    openCodeOutbox({
      mailer,
      random: realRandom,
      onLost: (reason, error) => log.event('signin.mail_lost', { reason }, error),
    });
  // Apart from codes, which must not wait for invitations.
  const invitations: CodeOutbox | null =
    mailer &&
    openCodeOutbox({
      mailer,
      random: realRandom,
      onLost: (reason, error) => log.event('invitation.mail_lost', { reason }, error),
    });
  const port = onceListening(() => portOf(app));
  const publicUrl = (): string => config.publicUrl ?? `http://localhost:${port()}`;
  const work = startControlWork({
    ...options,
    transparency: transparencyOf(options, resolve),
    outbound: outbound.client,
    mailer,
    onNotice: (mail, reason) => log.event('webhook.disabled', { reason, mail }),
    api: {
      sendCode(email, code, asker) {
        if (outbox === null) process.stdout.write(codeLine(email, code));
        else outbox.send(codeMail(email, code, publicUrl()), asker);
      },
      sendInvitation(mail, asker) {
        if (invitations === null) process.stdout.write(invitationLine(mail));
        else invitations.send(invitationMail(mail, publicUrl()), asker);
      },
      // Not the signal that ends the loops: a request that is still open needs its URL checked.
      checkUrl: (url) => checkWebhookUrl(url, resolve, new AbortController().signal),
      publicUrl,
      service: serviceFacts(options),
      serveOther: otherPaths(options, publicUrl),
      nodes: options.nodes,
      freeMemory: options.freeMemory,
    },
    onScrubbed: unerasedReport(options),
    onStoreFault: (event, error) => faultsOf(event)(error),
    onRequestFailed: (error, requestId) => log.event('request.failed', { request: requestId ?? null }, error),
  });
  const { app } = work;
  return {
    app,
    webhookOldestDue: () => oldestDueSeconds(store, clock()),
    transparency: () => work.transparency(),
    quiesce: () => work.quiesce(),
    async stop() {
      await work.stop();
      await Promise.all([outbox?.stop(), invitations?.stop(), outbound.stop()]);
    },
  };
}
