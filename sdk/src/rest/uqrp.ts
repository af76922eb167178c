import {
  Account,
  type Overview,
  type OverviewOptions,
  type Propagation,
  type PropagationOptions,
  type Usage,
  type UsageOptions,
} from './account/account.ts';
import { Auth, Sessions } from './account/auth.ts';
import { Organizations } from './account/organizations.ts';
import { Passkeys } from './account/passkeys.ts';
import { ApiKeys } from './api-keys.ts';
import { Audit } from './audit.ts';
import {
  type ChangeResource,
  Changes,
  type ChangesFilter,
  type ChangesPage,
  type ChangesPageFilter,
  type ChangesReset,
} from './changes.ts';
import { Datasets } from './datasets.ts';
import type { StreamOptions } from './http/events.ts';
import { type Answer, type CallOptions, Http, type RequestParts, type UqrpOptions } from './http/http.ts';
import type { Meta } from './meta.ts';
import { Namespaces, QueryTokens } from './namespaces.ts';
import { QueryLogs } from './query-logs.ts';
import { Records } from './records/records.ts';
import type { UserResource } from './resources.ts';
import { Webhooks } from './webhooks.ts';

/**
 * A client of one server with one credential. It keeps no state between calls, writes no logs, and asks nobody but
 * `baseUrl`.
 */
export class Uqrp {
  readonly records: Records;
  readonly namespaces: Namespaces;
  readonly queryTokens: QueryTokens;
  readonly apiKeys: ApiKeys;
  readonly webhooks: Webhooks;
  readonly queryLogs: QueryLogs;
  readonly audit: Audit;
  readonly datasets: Datasets;
  readonly auth: Auth;
  readonly sessions: Sessions;
  readonly passkeys: Passkeys;
  readonly organizations: Organizations;
  readonly #account: Account;
  readonly #changes: Changes;
  readonly #http: Http;
  readonly #options: UqrpOptions;

  /** @throws TypeError for a base URL or a token that cannot be used */
  constructor(options: UqrpOptions) {
    const http = new Http(options);
    this.#http = http;
    this.#options = options;
    this.records = new Records(http);
    this.namespaces = new Namespaces(http);
    this.queryTokens = new QueryTokens(http);
    this.apiKeys = new ApiKeys(http);
    this.webhooks = new Webhooks(http);
    this.queryLogs = new QueryLogs(http);
    this.audit = new Audit(http);
    this.datasets = new Datasets(http);
    this.auth = new Auth(http);
    this.sessions = new Sessions(http);
    this.passkeys = new Passkeys(http);
    this.organizations = new Organizations(http);
    this.#account = new Account(http);
    this.#changes = new Changes(http);
  }

  /** The same client with another credential. */
  withToken(token: string): Uqrp {
    return new Uqrp({ ...this.#options, credentials: undefined, token });
  }

  /** The signed-in user. An API key gets 403. */
  me(options: CallOptions = {}): Promise<UserResource> {
    return this.#account.me(options);
  }

  /** Deletes the account of the signed-in user with everything in it. @param email that of the account: it proves intent */
  deleteAccount(email: string, options: CallOptions = {}): Promise<void> {
    return this.#account.delete(email, options);
  }

  usage(options: UsageOptions = {}): Promise<Usage> {
    return this.#account.usage(options);
  }

  /** What is used, and the queries of a window by status and by resource, in one answer. */
  overview(options: OverviewOptions = {}): Promise<Overview> {
    return this.#account.overview(options);
  }

  /**
   * Changes as they are made, in commit order. After a lost connection it goes on after the last one. Keep `cursor` with what you did, and
   * give it as `since` the next time. `{event: 'reset'}`: changes are missing, read everything again.
   */
  changes(
    options: ChangesFilter & StreamOptions = {},
  ): AsyncGenerator<ChangeResource | ChangesReset, void, undefined> {
    const { since, namespace, cascade, ...stream } = options;
    return this.#changes.follow({ since, namespace, cascade }, stream);
  }

  /** One page of changes; with `wait` it comes at the first one. */
  changesPage(filter: ChangesPageFilter = {}, options: CallOptions = {}): Promise<ChangesPage> {
    return this.#changes.page(filter, options);
  }

  /** Which DNS nodes have applied a write. @param seq what `onWritten` of the write was called with, or a cursor of the feed of changes */
  propagation(seq: string, options: PropagationOptions = {}): Promise<Propagation> {
    return this.#account.propagation(seq, options);
  }

  /** What a server offers: zones, endpoints, limits, events, features. Needs no credential. */
  meta(options: CallOptions = {}): Promise<Meta> {
    return this.#account.meta(options);
  }

  /** Any request of the API: for endpoints that have no method here. Throws and repeats as the other calls do. */
  request<T = unknown>(parts: RequestParts): Promise<Answer<T>> {
    return this.#http.json<T>(parts);
  }

  /**
   * The same for bodies that are no JSON, or are read while they arrive. The timeout covers the head of the response;
   * `signal` also ends the body.
   */
  open(parts: RequestParts): Promise<Response> {
    return this.#http.open(parts);
  }
}
