import type { OutboundRequest, OutboundResult } from '../request.ts';

/** What an outbound thread is started with. Plain data. */
export interface ThreadSettings {
  /** Name servers; empty: those of the system. */
  readonly resolvers: readonly string[];
  /** Milliseconds for one request in all. */
  readonly deadlineMs: number;
}

/** A request on its way to the thread: a URL travels as text. */
export type ThreadRequest = { readonly id: number; readonly url: string } & Omit<OutboundRequest, 'url'>;

export interface ThreadReply {
  readonly id: number;
  readonly result: OutboundResult;
}
