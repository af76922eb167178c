import { type CallOptions, type Http, patienceFor } from '../http/http.ts';
import type { Meta } from '../meta.ts';
import type { QueryCounts } from '../query-logs.ts';
import type { TierName, UserResource } from '../resources.ts';

/** `GET /usage`. Counts of queries are approximate and for display. */
export interface Usage {
  readonly tier: TierName;
  readonly period: { readonly since: string; readonly until: string };
  readonly records: { readonly used: number; readonly limit: number };
  /** Of namespaces that keep history. Above `limit` the oldest go. */
  readonly versions: { readonly used: number; readonly limit: number };
  readonly namespaces: { readonly used: number };
  readonly api_keys: { readonly used: number };
  readonly webhooks: { readonly used: number; readonly limit: number };
  /** Null: writes are not limited in number. */
  readonly writes: Writes | null;
  readonly metered: MeteredUsage;
}

/** Of one period of the write budget. */
export interface WritesUse {
  readonly used: number;
  readonly limit: number;
  /** Seconds until `used` is 0 again; 0: nothing is used. */
  readonly resets_in: number;
}

/** The write budget of the account, over all credentials. */
export interface Writes {
  readonly minute: WritesUse;
  readonly hour: WritesUse;
}

export interface PropagationOptions extends CallOptions {
  /** Seconds to wait until every node that is not late has the write, 0 to 30. */
  readonly wait?: number | undefined;
}

/** `GET /propagation`. */
export interface Propagation {
  /** Whether every node that is not late has the write. */
  readonly applied: boolean;
  readonly nodes: readonly NodePropagation[];
}

export interface NodePropagation {
  readonly name: string;
  /** Whether its answers show the write. */
  readonly applied: boolean;
  /** Milliseconds from the begin of the write until the node had it; null: not known. */
  readonly ms: number | null;
  /** The node has not told how it is for 15 seconds. */
  readonly late: boolean;
}

export interface UsageOptions extends CallOptions {
  /** The reads of each day of the month as well. */
  readonly by?: 'day' | undefined;
}

export interface OverviewOptions extends CallOptions {
  /** `24h` unless given. */
  readonly window?: QueryCounts['window'] | undefined;
}

/** `GET /overview`: what is used, and the queries of a window by status and by resource. */
export interface Overview {
  readonly usage: Usage;
  readonly queries: QueryCounts;
  readonly resources: QueryCounts;
}

export interface MeteredUsage {
  readonly since: string;
  readonly until: string;
  readonly estimated: true;
  readonly total_authenticated_queries: number;
  readonly by_namespace: readonly { readonly name: string; readonly count: number }[];
  readonly tier: TierName;
  readonly tier_allowance: number;
  /** Only with `by: 'day'`: days in UTC, from the first of the month until now. */
  readonly by_day?: readonly { readonly date: string; readonly count: number }[];
  /** Only where billing is active. */
  readonly soft_cap_state?: SoftCapState;
}

/** How much of the allowance is used. For display. */
export interface SoftCapState {
  readonly state: 'within' | 'near' | 'over';
  readonly allowance: number;
  readonly used: number;
  readonly percent: number;
}

export class Account {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  async me(options: CallOptions = {}): Promise<UserResource> {
    return (await this.#http.json<UserResource>({ method: 'GET', path: '/me', ...options })).body;
  }

  async delete(email: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: '/me', body: { email }, ...options });
  }

  async usage({ by, ...call }: UsageOptions = {}): Promise<Usage> {
    return (await this.#http.json<Usage>({ method: 'GET', path: '/usage', query: { by }, ...call })).body;
  }

  async overview({ window, ...call }: OverviewOptions = {}): Promise<Overview> {
    const parts = { method: 'GET', path: '/overview', query: { window }, ...call } as const;
    return (await this.#http.json<Overview>(parts)).body;
  }

  async propagation(seq: string, options: PropagationOptions = {}): Promise<Propagation> {
    const { wait, ...call } = options;
    const query = { seq, wait };
    return (
      await this.#http.json<Propagation>({
        method: 'GET',
        path: '/propagation',
        query,
        ...patienceFor(wait),
        ...call,
      })
    ).body;
  }

  async meta(options: CallOptions = {}): Promise<Meta> {
    return (await this.#http.json<Meta>({ method: 'GET', path: '/meta', ...options })).body;
  }
}
