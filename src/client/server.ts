export interface Server {
  readonly host: string;
  readonly port: number;
  /** PEM certificates to trust besides the system's, for DoT and DoH. */
  readonly ca: string | null;
}

/** Sends one message and gives the reply's octets. Rejects when none comes before the deadline. */
export type Exchange = (query: Uint8Array, server: Server, deadlineMs: number) => Promise<Uint8Array>;
