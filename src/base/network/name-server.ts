export interface NameServer {
  /** One label below the zone. */
  readonly label: string;
  /** Literal IPv4 and IPv6 addresses, at least one. */
  readonly addresses: readonly string[];
}
