import type { EventDescription } from './resources.ts';

/** Where a service listens. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Null: this process does not offer it. */
export interface Endpoints {
  readonly rest: string;
  readonly dns: Endpoint | null;
  readonly dot: Endpoint | null;
  readonly doh: string | null;
  readonly resolve: string | null;
  readonly schema: string | null;
}

export interface TierLimits {
  readonly records: number;
  readonly webhooks: number;
  /** Private reads a month; it enforces nothing. */
  readonly allowance: number;
}

export interface Features {
  readonly organizations: boolean;
  readonly datasets: boolean;
  readonly datasets_asof: boolean;
  readonly billing: boolean;
  readonly passkeys: boolean;
  readonly sign_up: boolean;
  readonly rate_limits: boolean;
}

/** What a server offers. */
export interface Meta {
  readonly version: string;
  /** Zones of query names. */
  readonly zones: readonly string[];
  readonly endpoints: Endpoints;
  /** By name; names that end in `_ms` are milliseconds. */
  readonly limits: Readonly<Record<string, number>>;
  readonly tiers: Readonly<Record<string, TierLimits>>;
  /** Names that no namespace can have. */
  readonly reserved_names: readonly string[];
  readonly webhook_events: readonly EventDescription[];
  /** Seconds before each attempt of a delivery. */
  readonly webhook_schedule: readonly number[];
  /** Field `f` of the envelope by media type. */
  readonly content_formats: Readonly<Record<string, string>>;
  readonly features: Features;
}
