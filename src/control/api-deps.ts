import type { SecretEncryption } from '../base/seal.ts';
import type { HttpDeps } from '../http/server.ts';
import type { HasSessions } from './accounts/sessions.ts';
import type { HasCodes } from './accounts/sign-in.ts';
import type { HasZoneLength } from './deps.ts';
import type { HasFlags } from './flags/read-counts.ts';
import type { HasHistoryKeys } from './history/keep.ts';
import type { HasInvitationMail } from './organizations/invitations.ts';
import type { HasChallenges } from './passkeys/webauthn.ts';
import type { LogRouteDeps } from './transparency/api.ts';
import type { HasNodes } from './usage/propagation.ts';
import type { HasBilling } from './usage/rules.ts';
import type { WebhookDeps } from './webhooks/rules.ts';

/** What the composition root knows of the server. */
export interface ServiceFacts {
  /** Of the program. */
  readonly version: string;
  /** Full names without a trailing dot. */
  readonly zones: readonly string[];
  readonly features: Features;
  /** Ports that listen; null: this process answers no DNS. */
  /** Seconds before each attempt of a delivery. */
  readonly webhookSchedule: readonly number[];
  /** The host in commands that ask plain DNS. @param origin under which browsers reach this server */
  readonly dnsHost: (origin: string) => string;
  readonly dnsPorts: () => { readonly dns: number; readonly dot: number; readonly doh: number } | null;
}

export interface Features {
  readonly organizations: boolean;
  readonly datasets: boolean;
  readonly datasets_asof: boolean;
  readonly billing: boolean;
  readonly passkeys: boolean;
  readonly sign_up: boolean;
  /** Whether requests and writes are limited in number. */
  readonly rate_limits: boolean;
}

/** What the routes of the API, and the server around them, need. */
export interface ApiDeps
  extends Omit<HttpDeps, 'credentials'>,
    WebhookDeps,
    HasZoneLength,
    HasHistoryKeys,
    HasSessions,
    HasCodes,
    HasChallenges,
    HasInvitationMail,
    HasBilling,
    HasNodes,
    HasFlags {
  /** Whether users may share what belongs to an organization. */
  readonly organizations: boolean;
  /** Begins to send a sign-in code by mail, or prints it, and returns at once. @param asker the network whose turn it takes */
  readonly sendCode: (email: string, code: string, asker: string) => void;
  /** Encrypts stored answers of POST requests. */
  readonly answers: SecretEncryption;
  readonly service: ServiceFacts;
  /** Null or absent: no transparency log is shown. */
  readonly transparencyLog?: Pick<LogRouteDeps, 'limiter'> | null;
}
