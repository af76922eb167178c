/** Where to ask. */
export interface Server {
  readonly host: string;
  readonly port: number;
  /** PEM certificates to trust in addition to the system's, for DoT and DoH. Null: the system's only. */
  readonly ca: string | null;
}

/** Sends one message and returns the octets of the reply. Rejects when none comes before the deadline. */
export type Exchange = (query: Uint8Array, server: Server, deadlineMs: number) => Promise<Uint8Array>;
