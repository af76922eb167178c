import type { OutboundRequest, OutboundResult } from '../request.ts';

/** What a thread that keeps a door is started with. Plain data. */
export interface KeeperSettings {
  /** Name servers; empty: those of the system. */
  readonly resolvers: readonly string[];
  /** Milliseconds for one request in all. */
  readonly deadlineMs: number;
}

/** A request on its way to the thread: a URL travels as text. */
export type ToKeeper = { readonly id: number; readonly url: string } & Omit<OutboundRequest, 'url'>;

export interface FromKeeper {
  readonly id: number;
  readonly result: OutboundResult;
}
