import type { OutboundRequest, OutboundResult } from '../request.ts';

export interface ThreadSettings {
  /** Name servers; empty: those of the system. */
  readonly resolvers: readonly string[];
  /** Milliseconds for one request in all. */
  readonly deadlineMs: number;
}

/** The URL is text, because structured clone cannot copy a URL. */
export type ThreadRequest = { readonly id: number; readonly url: string } & Omit<OutboundRequest, 'url'>;

export interface ThreadReply {
  readonly id: number;
  readonly result: OutboundResult;
}
