import type { Uqrp } from '../../../sdk/src/rest/uqrp.ts';

type Call = (uqrp: Uqrp) => Promise<unknown>;

const ID = '0198f3a0-5f0e-7c11-a2f4-3b1d2c9e8a77';
const KEY = 'a.b.acme.v1';
const AT = new Date('2026-01-01T00:00:00.000Z');
const NAMES = { namespace: 'acme', resource: 'b' };
const TIMES = { created_after: AT, created_before: AT };
const CREDENTIAL = { id: 'aa', rawId: 'aa', type: 'public-key' } as const;
const SIGNED = { clientDataJSON: 'aa', authenticatorData: 'aa', signature: 'aa', userHandle: 'aa' };

/** One call of the client for each operation, with every filter that the client can send. */
export const CALLS: Readonly<Record<string, Call>> = {
  listApiKeys: ({ apiKeys }) => apiKeys.list(),
  createApiKey: ({ apiKeys }) =>
    apiKeys.create({ name: 'a', scopes: { operations: ['read'], namespaces: ['acme'] }, expires_at: null }),
  deleteApiKey: ({ apiKeys }) => apiKeys.revoke(ID),
  switchOrganization: ({ organizations }) => organizations.actFor(ID),
  createPasskeySignInOptions: ({ auth }) => auth.passkeyOptions(),
  verifyPasskeySignIn: ({ auth }) =>
    auth.verifyPasskey({ ...CREDENTIAL, response: SIGNED }, { cookie: true }),
  signOut: ({ auth }) => auth.signOut(),
  signIn: ({ auth }) => auth.signIn('a@example.net'),
  verifyCode: ({ auth }) => auth.verify('a@example.net', '123456', { cookie: true, flow: 'A'.repeat(22) }),
  acceptInvitation: ({ organizations }) => organizations.acceptInvitation('a'.repeat(64)),
  getMe: (uqrp) => uqrp.me(),
  deleteMe: (uqrp) => uqrp.deleteAccount('a@example.net'),
  getMeta: (uqrp) => uqrp.meta(),
  listNamespaces: ({ namespaces }) => namespaces.list(),
  createNamespace: ({ namespaces }) => namespaces.create('acme'),
  getNamespace: ({ namespaces }) => namespaces.get(ID),
  updateNamespace: ({ namespaces }) =>
    namespaces.update(ID, { max_ttl: 3600, history: { versions: 20, days: 90 } }),
  deleteNamespace: ({ namespaces }) => namespaces.delete(ID),
  exportRecords: ({ namespaces }) => namespaces.export(ID, { at: AT }).next(),
  listKeyVersions: ({ namespaces }) => namespaces.versions(ID, KEY, { limit: 1 }).page(),
  restoreDeletedRecord: ({ namespaces }) => namespaces.restore(ID, KEY, 3),
  undoWrite: ({ namespaces }) => namespaces.undo(ID, 'AW9wYXF1ZQ'),
  eraseKeyVersions: ({ namespaces }) => namespaces.eraseVersions(ID, KEY),
  listEndingQueryTokens: ({ queryTokens }) => queryTokens.ending({ expiring_before: AT, limit: 1 }),
  listQueryTokens: ({ queryTokens }) => queryTokens.list(ID),
  createQueryToken: ({ queryTokens }) =>
    queryTokens.mint(ID, { name: 'a', expires_in_days: 1, session: false }),
  revokeQueryToken: ({ queryTokens }) => queryTokens.revoke(ID, ID),
  createOrganization: ({ organizations }) => organizations.create('a'),
  listOrganizations: ({ organizations }) => organizations.list(),
  getOrganization: ({ organizations }) => organizations.get(ID),
  updateOrganization: ({ organizations }) => organizations.rename(ID, 'b'),
  deleteOrganization: ({ organizations }) => organizations.delete(ID),
  createInvitation: ({ organizations }) =>
    organizations.invite(ID, { email: 'a@example.net', role: 'owner' }),
  listInvitations: ({ organizations }) => organizations.invitations(ID),
  deleteInvitation: ({ organizations }) => organizations.withdrawInvitation(ID, ID),
  listMembers: ({ organizations }) => organizations.members(ID),
  updateMember: ({ organizations }) => organizations.changeRole(ID, ID, 'owner'),
  removeMember: ({ organizations }) => organizations.removeMember(ID, ID),
  listPasskeys: ({ passkeys }) => passkeys.list(),
  createPasskey: ({ passkeys }) =>
    passkeys.create('a', { ...CREDENTIAL, response: { clientDataJSON: 'aa', attestationObject: 'aa' } }),
  createPasskeyOptions: ({ passkeys }) => passkeys.options(),
  deletePasskey: ({ passkeys }) => passkeys.delete(ID),
  listDatasets: ({ datasets }) => datasets.list({ limit: 1 }).page(),
  getDataset: ({ datasets }) => datasets.get('gtin-demo'),
  listAudit: ({ audit }) =>
    audit
      .list(
        { since: AT, until: AT, actor: 'a@example.net', action: 'record.*', namespace: 'acme', key: KEY },
        { limit: 1 },
      )
      .page(),
  exportAudit: ({ audit }) =>
    audit
      .export({
        since: AT,
        until: AT,
        actor: 'a@example.net',
        action: 'record.*',
        namespace: 'acme',
        key: KEY,
      })
      .next(),
  listQueryLogs: ({ queryLogs }) =>
    queryLogs.list({ namespace: 'acme', status: 'hit', since: AT, until: AT }, { limit: 1 }).page(),
  streamQueryLogs: ({ queryLogs }) => queryLogs.stream({ namespace: 'acme', status: 'hit' }).next(),
  listChanges: (uqrp) =>
    uqrp.changesPage({ since: 'AW9wYXF1ZQ', namespace: 'acme', cascade: true, wait: 1, limit: 1 }),
  streamChanges: (uqrp) => uqrp.changes({ since: 'AW9wYXF1ZQ', namespace: 'acme', cascade: true }).next(),
  listRecords: ({ records }) =>
    records
      .list(
        { ...NAMES, key: KEY, key_prefix: 'a', ttl_min: 1, ttl_max: 2, q: 'a', sort: 'key', ...TIMES },
        { limit: 1 },
      )
      .page(),
  getRecordFacets: ({ records }) => records.facets({ namespace: 'acme' }),
  createRecord: ({ records }) =>
    records.create(KEY, { text: 'a', ttl_seconds: 60, expires_in: 60 }, { ifAbsent: true }),
  writeRecords: ({ records }) =>
    records.bulk({
      put: [{ key: KEY, text: 'a', if_updated_at: null }],
      delete: ['c.b.acme.v1', { key: 'd.b.acme.v1', if_updated_at: AT.toISOString() }],
    }),
  getRecord: ({ records }) => records.get(ID),
  updateRecord: ({ records }) => records.update(ID, { text: 'a', expires_at: null }, { ifMatch: '"a"' }),
  deleteRecord: ({ records }) => records.delete(ID, { ifMatch: '"a"', erase: true }),
  listRecordVersions: ({ records }) => records.versions(ID, { limit: 1 }).page(),
  getRecordVersion: ({ records }) => records.version(ID, 3),
  restoreRecord: ({ records }) => records.restore(ID, 3, { ifMatch: '"a"' }),
  eraseRecordVersions: ({ records }) => records.eraseVersions(ID),
  listSessions: ({ sessions }) => sessions.list(),
  deleteSessions: ({ sessions }) => sessions.endAll(),
  deleteSession: ({ sessions }) => sessions.end(ID),
  getPropagation: (uqrp) => uqrp.propagation('AW9wYXF1ZQ', { wait: 1 }),
  getUsage: (uqrp) => uqrp.usage({ by: 'day' }),
  getOverview: (uqrp) => uqrp.overview({ window: '7d' }),
  countQueryLogs: ({ queryLogs }) =>
    queryLogs.counts({ window: '24h', step: '1h', group: 'status', namespace: 'acme', status: 'hit' }),
  listWebhooks: ({ webhooks }) => webhooks.list(),
  createWebhook: ({ webhooks }) =>
    webhooks.create({
      name: 'a',
      url: 'https://a.example/',
      events: ['record.deleted'],
      scopes: { namespaces: ['acme'] },
    }),
  listWebhookEvents: ({ webhooks }) => webhooks.events(),
  getWebhook: ({ webhooks }) => webhooks.get(ID),
  updateWebhook: ({ webhooks }) =>
    webhooks.update(ID, { name: 'a', enabled: true, scopes: { namespaces: [] } }),
  deleteWebhook: ({ webhooks }) => webhooks.delete(ID),
  listWebhookDeliveries: ({ webhooks }) =>
    webhooks.deliveries(ID, { status: 'failed', order: 'created' }, { limit: 1 }).page(),
  redeliverWebhookDelivery: ({ webhooks }) => webhooks.redeliver(ID, ID),
  regenerateWebhookSecret: ({ webhooks }) => webhooks.rotateSecret(ID),
  testWebhook: ({ webhooks }) => webhooks.test(ID),
};

/** Operations that the client leaves to `uqrp.request`, with the reason. */
export const WITHOUT_METHOD: Readonly<Record<string, string>> = {
  getOpenApi: 'for generators of clients',
};
