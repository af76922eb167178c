/** The certificate of DoT and DoH: loaded at the start, warned about before its end, loaded again on request. */
import { makeSelfSigned } from '../../base/certificates.ts';
import { every } from '../../base/lifecycle/loop.ts';
import { type CertificatePair, type TlsFault, tlsFaultOf } from '../../base/network/tls.ts';
import type { Clock } from '../../base/time.ts';
import { type Config, ConfigError } from '../../ops/config/config.ts';
import { loadTls } from '../../ops/config/tls.ts';
import type { Log } from '../../ops/telemetry/log.ts';

export interface EdgeCertificate {
  /** The one of the start. */
  readonly first: CertificatePair;
  /** End of the current certificate, milliseconds since the epoch. */
  end(): number;
  /** Loads it again and hands it over; the current one stays when either fails. */
  reload(use: (pair: CertificatePair) => Promise<void>): Promise<void>;
  stop(): Promise<void> | void;
}

const DAY_MS = 86_400_000;
/** Days before its end from which the certificate is warned about, once a day. */
const WARN_DAYS = 14;

/** @throws ConfigError when the files of the configuration cannot be used */
export function openCertificate(config: Config, clock: Clock, log: Log): EdgeCertificate {
  const load = () =>
    loadTls({ dataDir: config.dataDir, host: config.host, files: config.tls, clock, makeSelfSigned });
  const first = load();
  let end = first.notAfter;
  const daysLeft = (): number => Math.floor((end - clock()) / DAY_MS);
  const warn = (): void => {
    if (daysLeft() < WARN_DAYS) log.event('tls.expiring', { days: daysLeft() });
  };
  log.event('tls.loaded', { origin: first.origin, days: daysLeft() });
  warn();
  const warning = every({ ms: DAY_MS, task: warn, onError() {} });
  return {
    first,
    end: () => end,
    async reload(use) {
      try {
        const next = load();
        await use({ cert: next.cert, key: next.key });
        end = next.notAfter;
        log.event('tls.loaded', { origin: next.origin, days: daysLeft() });
        warn();
      } catch (error) {
        log.event('tls.failing', { reason: tlsReasonOf(error) }, error);
      }
    },
    stop: () => warning.stop(),
  };
}

export function tlsReasonOf(error: unknown): TlsFault {
  return tlsFaultOf(error instanceof ConfigError ? error.faults : []);
}
