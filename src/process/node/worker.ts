import { collectGarbage } from '../../base/lifecycle/collect-garbage.ts';
import { realTimers } from '../../base/lifecycle/timers.ts';
import { addressSet } from '../../base/network/address.ts';
import type { Transport, UdpPath, XdpChange } from '../../base/network/transport.ts';
import type { Clock } from '../../base/time.ts';
import { answerRequest, type DohApi, internalError } from '../../dns/doh/answer.ts';
import { listenDoh } from '../../dns/doh/listener.ts';
import type { HttpReply } from '../../dns/doh/request.ts';
import { findFreePort } from '../../dns/port-check.ts';
import { jsonApi } from '../../dns/query/json.ts';
import { makeSchemaApi } from '../../dns/schema/http.ts';
import { publish } from '../../dns/schema/publish.ts';
import { limitsByAddress } from '../../dns/shared/admission.ts';
import { ConnectionTable } from '../../dns/shared/connection-table.ts';
import { ServerCookies } from '../../dns/shared/cookies.ts';
import { ReplyDecorator } from '../../dns/shared/edns.ts';
import { startShares } from '../../dns/shared/listener.ts';
import { makeRateLimits } from '../../dns/shared/rate-limit.ts';
import type { TlsListener } from '../../dns/shared/tls.ts';
import { listenDot, listenTcp } from '../../dns/stream/stream-server.ts';
import type { BelowOptions } from '../../dns/udp/below.ts';
import { listenUdpEither } from '../../dns/udp/node-listener.ts';
import { type PeriodSecret, secretOf } from '../../feed/ports/node-keys.ts';
import { edgeStatsWriter } from '../../ops/telemetry/edge-stats.ts';
import { watchExchangeMap } from '../../services/exchanges.ts';
import { openLoaded } from '../../services/geoip-files.ts';
import { makeServices } from '../../services/list.ts';
import { openPlaces } from '../../services/places/table.ts';
import { openWorkerProviders } from '../../services/providers/worker.ts';
import { attachFreshness } from '../../view/freshness.ts';
import { openLmdbReaderOnceWhole } from '../../view/reader.ts';
import { openAnswers } from './answers.ts';
import { type Ask, createAskAnswers } from './asks.ts';
import { dohUrl, type EdgePorts, type LiveSettings, listenOn, type WorkerSettings } from './settings.ts';

export interface WorkerHost {
  readonly clock: Clock;
  fault(transport: Transport): void;
  xdp(change: XdpChange): void;
  /** Takes what was counted; the buffer is not used again here. */
  counted(buffer: ArrayBuffer): void;
}

export interface EdgeWorker {
  /** Answers a question that came over the REST port; null: the worker is stopping. */
  answer(ask: Ask): Promise<HttpReply | null>;
  readonly ports: EdgePorts;
  readonly udp: UdpPath;
  /**
   * Uses all of the settings given, or none.
   * @throws when a key set or the certificate is unusable; the earlier ones stay
   */
  change(settings: Partial<LiveSettings>): void;
  stop(): Promise<void>;
}

/** Milliseconds that queries in flight get at a stop. */
const GRACE_MS = 5000;
/** A port that was free may be taken before this thread has it; this many are tried. */
const PORT_TRIES = 10;

/** Opens the view and the listeners. Rejects with ListenError when a port cannot be opened. */
export async function startWorker(settings: WorkerSettings, host: WorkerHost): Promise<EdgeWorker> {
  const freshness = attachFreshness(settings.freshness);
  const stats = edgeStatsWriter(settings.stats, settings.worker);
  const view = await openLmdbReaderOnceWhole({ path: settings.viewPath, freshness }, realTimers);
  let geoip = openLoaded(settings.geoip);
  const exchanges = watchExchangeMap(settings.dataDir);
  startShares(settings.shares);
  const asker = { share: 0 };
  const services = makeServices({
    places: openPlaces(settings.places),
    geoip: { current: () => geoip },
    providers: openWorkerProviders({
      port: settings.providers,
      offered: settings.feeds,
      shareNow: () => asker.share,
    }),
    exchanges: exchanges.current,
    btc: settings.btc,
  });
  const answers = openAnswers({
    settings,
    view,
    freshness,
    services: publish(services),
    clock: host.clock,
    observe: stats,
    asker,
    counted: (buffer) => host.counted(buffer),
  });
  const { handler } = answers;
  let cookieSecrets = settings.cookies;
  const cookies = new ServerCookies((day) => cookieSecret(cookieSecrets, day), host.clock);
  const { responses, streamQueries, connections: perAddress, httpsRequests } = settings.limits;
  const rates = makeRateLimits({ memory: settings.rates, ...settings.limits, clock: host.clock });
  const proxies = settings.proxies.length === 0 ? null : addressSet(settings.proxies);
  const common = (transport: Transport) => ({
    host: settings.host,
    handler,
    clock: host.clock,
    observe: stats,
    cookies,
    proxies,
    reusePort: true,
    onFault: () => host.fault(transport),
  });
  const connections = new ConnectionTable(settings.connections, settings.worker);
  const limits = limitsByAddress(perAddress);
  const streams = { limits, connections, meter: streamQueries === 0 ? null : rates.meter };
  let secured = { tls: settings.tls, ticketKeys: Buffer.from(settings.ticketKeys) };

  const below: BelowOptions | null = settings.xdp && {
    ...settings.xdp,
    // Each thread has a queue of its own: that of its number. Where there are fewer queues, the others have their sockets.
    queue: settings.worker,
    onRequests: (count) => stats.below(count),
    onChange(change) {
      if (change.type === 'attached') stats.belowQueues(1);
      if (change.type === 'detached') stats.belowQueues(-1);
      host.xdp(change);
    },
  };

  collectGarbage();
  const [{ listener: udp, path }, tcp] = await listenBoth(settings, async (port) => {
    const limiter = responses === 0 ? null : rates.udp;
    const either = await listenOn({ transport: 'udp', port }, () =>
      listenUdpEither({ ...common('udp'), port, limiter, below }, settings.udp),
    );
    try {
      const at = { transport: 'tcp', port: either.listener.address.port } as const;
      return [either, await listenOn(at, () => listenTcp({ ...common('tcp'), ...streams, port: at.port }))];
    } catch (error) {
      await either.listener.close(0);
      throw error;
    }
  });
  const dot = await listenOn({ transport: 'dot', port: settings.ports.dot }, () =>
    listenDot({ ...common('dot'), ...streams, ...secured, port: settings.ports.dot }),
  );
  const resources = {
    json: jsonApi,
    schema: makeSchemaApi({
      services,
      zones: settings.zones,
      dohUrl: () => dohUrl(settings.host, doh.address.port),
    }),
  };
  const doh: TlsListener = await listenOn({ transport: 'doh', port: settings.ports.doh }, () =>
    listenDoh({
      ...common('doh'),
      ...secured,
      port: settings.ports.doh,
      ...resources,
      limits,
      connections,
      admit: httpsRequests === 0 ? null : rates.admit,
    }),
  );
  const api: DohApi = { ...common('doh'), ...resources, decorator: new ReplyDecorator('doh', { cookies }) };
  const asks = createAskAnswers(
    (request, address) => answerRequest(request, api, address),
    (fault) => {
      api.onFault(fault);
      return internalError();
    },
  );
  return {
    answer: (ask) => asks.answer(ask),
    udp: path,
    ports: { dns: udp.address.port, dot: dot.address.port, doh: doh.address.port },
    change({ keys, tls, ticketKeys, cookies: newCookies, geoip: newGeoip }) {
      // First what can fail. Both listeners check the same certificate, so the first one refuses it.
      const use = answers.change(keys);
      const database = newGeoip === undefined ? geoip : openLoaded(newGeoip);
      if (tls !== undefined || ticketKeys !== undefined) {
        const next = { tls: tls ?? secured.tls, ticketKeys: Buffer.from(ticketKeys ?? secured.ticketKeys) };
        for (const listener of [dot, doh]) listener.reloadTls(next.tls, next.ticketKeys);
        secured = next;
      }
      if (newCookies !== undefined) {
        cookieSecrets = newCookies;
        cookies.renew();
      }
      if (keys === undefined && newGeoip === undefined) return;
      geoip = database;
      // Cached replies made from the old ones are invalid.
      use();
    },
    async stop() {
      exchanges.stop();
      await Promise.all([
        asks.stop(GRACE_MS),
        ...[udp, tcp, dot, doh].map((listener) => listener.close(GRACE_MS)),
      ]);
      await answers.stop();
      await view.close();
    },
  };
}

/** The cookie secret of one day; see `ServerCookies`. */
function cookieSecret(secrets: readonly PeriodSecret[], day: number): Uint8Array {
  const secret = secretOf(secrets, day);
  if (secret === null) throw new Error('there is no secret for server cookies');
  return secret;
}

/** Opens UDP and TCP on one port. Port 0: on any port that nothing has. */
async function listenBoth<T>(
  { host, ports }: WorkerSettings,
  open: (port: number) => Promise<T>,
): Promise<T> {
  if (ports.dns !== 0) return await open(ports.dns);
  for (let attempt = 1; ; attempt++) {
    try {
      return await open(await findFreePort(host));
    } catch (error) {
      if (attempt === PORT_TRIES) throw error;
    }
  }
}
