/** TLS sessions to resume (RFC 8446 §2.2), by the host and port of a URL and the address that was dialled. */
export interface TlsSessions {
  get(host: string): Buffer | undefined;
  /** @param session of a connection whose certificate was checked in full */
  keep(host: string, session: Buffer): void;
  forget(host: string): void;
}

/** A certificate is checked in full at least this often, milliseconds. */
const LIFE_MS = 300_000;
const HOSTS_MAX = 1000;

/** Keeps a session for `lifeMs` from its full handshake, however often it is resumed. When full, removes the oldest. */
export function createTlsSessions(lifeMs = LIFE_MS, hostsMax = HOSTS_MAX): TlsSessions {
  const sessions = new Map<string, { readonly session: Buffer; readonly until: number }>();
  return {
    get(host) {
      const kept = sessions.get(host);
      if (kept === undefined) return undefined;
      if (performance.now() < kept.until) return kept.session;
      sessions.delete(host);
      return undefined;
    },
    keep(host, session) {
      // Later tickets of the connection do not extend the time.
      if (sessions.has(host)) return;
      if (sessions.size >= hostsMax) {
        for (const oldest of sessions.keys()) {
          sessions.delete(oldest);
          break;
        }
      }
      sessions.set(host, { session, until: performance.now() + lifeMs });
    },
    forget(host) {
      sessions.delete(host);
    },
  };
}
