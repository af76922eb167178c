/** A name server of the service inside each of its zones. */
export interface NameServer {
  /** One label below the zone. */
  readonly label: string;
  /** One or more literal addresses of either family. */
  readonly addresses: readonly string[];
}
