import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Timers } from '../base/lifecycle/timers.ts';
import type { HttpObservation } from '../base/network/http-observation.ts';
import type { HasCodes, HasSessions, HasZoneLength } from '../control/accounts/deps.ts';
import type { AnswerEncryption } from '../control/idempotency/once.ts';
import type { HasInvitationMail } from '../control/organizations/invitations.ts';
import type { HasChallenges } from '../control/passkeys/relying-party.ts';
import type { HasNodes } from '../control/propagation/propagation.ts';
import type { HasBilling } from '../control/usage/usage.ts';
import type { WebhookDeps } from '../control/webhooks/ports.ts';
import type { OnFailure } from './answers/errors.ts';
import type { ServiceFacts } from './answers/meta.ts';
import type { FreeMemory } from './limits/body-budget.ts';
import type { Limiter } from './limits/limiter.ts';

/**
 * Answers a request for a path that no route has, before it counts for any budget.
 * @returns a route template for metrics; null: nothing was sent, and the client gets the API's 404
 */
export type ServeOther = (request: FastifyRequest, reply: FastifyReply) => Promise<string | null>;

export interface ApiDeps
  extends WebhookDeps,
    HasZoneLength,
    HasSessions,
    HasCodes,
    HasChallenges,
    HasInvitationMail,
    HasBilling,
    HasNodes {
  /** Whether users may share what belongs to an organization. */
  readonly organizations: boolean;
  /** Begins to send a sign-in code by mail, or prints it, and returns at once. */
  readonly sendCode: (email: string, code: string) => void;
  /** Encrypts stored answers of POST requests. */
  readonly answers: AnswerEncryption;
  readonly timers: Timers;
  readonly limiter: Limiter;
  /** Origin of absolute URLs, without a trailing slash. */
  readonly publicUrl: () => string;
  readonly service: ServiceFacts;
  /** Proxies whose `X-Forwarded-For` is trusted: addresses, and networks in CIDR form. */
  readonly trustedProxies: readonly string[];
  /** What else the port serves. */
  readonly serveOther?: ServeOther;
  readonly freeMemory?: FreeMemory;
  readonly observe?: (observation: HttpObservation) => void;
  /** Called for faults of the server: the client reads only `Server error`. */
  readonly onError?: OnFailure;
}
