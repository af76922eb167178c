import type { CallOptions, Http, PostOptions } from '../http/http.ts';
import type { TierName } from '../resources.ts';

export type MemberRole = 'owner' | 'member';

export interface OrganizationResource {
  readonly id: string;
  readonly name: string;
  /** Of the caller. */
  readonly role: MemberRole;
  readonly tier: TierName;
  readonly members_count: number;
  readonly created_at: string;
}

export interface MemberResource {
  readonly user_id: string;
  readonly email: string;
  readonly role: MemberRole;
  readonly created_at: string;
}

export interface InvitationResource {
  readonly id: string;
  readonly email: string;
  readonly role: MemberRole;
  readonly expires_at: string;
  readonly created_at: string;
}

export interface NewInvitation {
  readonly email: string;
  /** Default `member`. */
  readonly role?: MemberRole | undefined;
}

/** Users who share what belongs to an organization. `meta().features.organizations` says whether a server has them. */
export class Organizations {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Those that you belong to. */
  list(options: CallOptions = {}): Promise<readonly OrganizationResource[]> {
    return this.#get('/organizations', options);
  }

  get(id: string, options: CallOptions = {}): Promise<OrganizationResource> {
    return this.#get(pathOf(id), options);
  }

  /** You become its first owner. */
  async create(name: string, options: PostOptions = {}): Promise<OrganizationResource> {
    const body = { organization: { name } };
    const parts = { method: 'POST', path: '/organizations', body, ...options } as const;
    return (await this.#http.json<OrganizationResource>(parts)).body;
  }

  async rename(id: string, name: string, options: CallOptions = {}): Promise<OrganizationResource> {
    const parts = {
      method: 'PATCH',
      path: pathOf(id),
      body: { organization: { name } },
      ...options,
    } as const;
    return (await this.#http.json<OrganizationResource>(parts)).body;
  }

  /** Deletes everything that belongs to it too. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: pathOf(id), ...options });
  }

  /**
   * Chooses what the session of this client acts for: records, namespaces, webhooks, keys and usage are those of the
   * organization from then on. @param id null: the account of the user alone
   */
  async actFor(id: string | null, options: CallOptions = {}): Promise<OrganizationResource | null> {
    const body = { organization_id: id };
    const parts = { method: 'POST', path: '/auth/organization', body, isKeyless: true, ...options } as const;
    return (await this.#http.json<{ organization: OrganizationResource | null }>(parts)).body.organization;
  }

  members(id: string, options: CallOptions = {}): Promise<readonly MemberResource[]> {
    return this.#get(`${pathOf(id)}/members`, options);
  }

  async changeRole(
    id: string,
    userId: string,
    role: MemberRole,
    options: CallOptions = {},
  ): Promise<MemberResource> {
    const parts = { method: 'PATCH', path: memberPath(id, userId), body: { member: { role } } } as const;
    return (await this.#http.json<MemberResource>({ ...parts, ...options })).body;
  }

  /** Removes another member, or yourself: you leave. */
  async removeMember(id: string, userId: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: memberPath(id, userId), ...options });
  }

  /** Those that can still be accepted. */
  invitations(id: string, options: CallOptions = {}): Promise<readonly InvitationResource[]> {
    return this.#get(`${pathOf(id)}/invitations`, options);
  }

  /** Mails an invitation. It works once, only for the user with this address, and replaces an earlier one. */
  async invite(
    id: string,
    invitation: NewInvitation,
    options: PostOptions = {},
  ): Promise<InvitationResource> {
    const parts = { method: 'POST', path: `${pathOf(id)}/invitations`, body: { invitation } } as const;
    return (await this.#http.json<InvitationResource>({ ...parts, ...options })).body;
  }

  async withdrawInvitation(id: string, invitationId: string, options: CallOptions = {}): Promise<void> {
    const path = `${pathOf(id)}/invitations/${encodeURIComponent(invitationId)}`;
    await this.#http.json({ method: 'DELETE', path, ...options });
  }

  /** @param token that of the mail. One that you cannot accept is 404 */
  async acceptInvitation(token: string, options: PostOptions = {}): Promise<OrganizationResource> {
    const parts = { method: 'POST', path: '/invitations/accept', body: { token }, ...options } as const;
    return (await this.#http.json<OrganizationResource>(parts)).body;
  }

  async #get<T>(path: string, options: CallOptions): Promise<T> {
    return (await this.#http.json<T>({ method: 'GET', path, ...options })).body;
  }
}

function pathOf(id: string): string {
  return `/organizations/${encodeURIComponent(id)}`;
}

function memberPath(id: string, userId: string): string {
  return `${pathOf(id)}/members/${encodeURIComponent(userId)}`;
}
