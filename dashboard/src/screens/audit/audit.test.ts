import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ACTION_CHOICES, auditFilter, auditTexts } from './audit-filters.ts';
import { objectPath } from './audit-object.ts';

describe('filters of the audit log', () => {
  it('are read from the address, without what is no filter', () => {
    const texts = auditTexts(
      new URLSearchParams(
        'actor= ada@example.net &action=record.*&key=A.Acme.v1&since=2026-01-01&until=soon&x=1',
      ),
    );
    assert.deepEqual(auditFilter(texts), {
      actor: 'ada@example.net',
      action: 'record.*',
      key: 'a.acme.v1',
      since: '2026-01-01T00:00:00.000Z',
    });
    assert.deepEqual(auditFilter(auditTexts(new URLSearchParams('action=<b>&key=greet'))), {});
  });

  it('offer each action, and groups of several', () => {
    assert.ok(ACTION_CHOICES.includes('record.created') && ACTION_CHOICES.includes('record.*'));
    assert.ok(ACTION_CHOICES.includes('account.deleted') && !ACTION_CHOICES.includes('account.*'));
    assert.equal(new Set(ACTION_CHOICES).size, ACTION_CHOICES.length);
  });
});

describe('objects of audit rows', () => {
  it('lead to their page: a record to its history', () => {
    const none = { id: null, name: null, namespace: null, count: null };
    const acme = { ...none, namespace: 'acme' };
    const cases = [
      [{ ...acme, kind: 'record', name: 'a.acme.v1' }, '/namespaces/acme?history=a.acme.v1'],
      [{ ...acme, kind: 'record', count: 3 }, '/namespaces/acme'],
      [{ ...none, kind: 'record', count: 3 }, null],
      [{ ...acme, kind: 'namespace' }, '/namespaces/acme'],
      [{ ...acme, kind: 'query_token' }, '/namespaces/acme?tab=tokens'],
      [{ ...none, kind: 'webhook', id: 'w' }, '/webhooks/w'],
      [{ ...none, kind: 'account' }, null],
      [{ ...none, kind: null }, null],
    ] as const;
    for (const [object, path] of cases) assert.equal(objectPath(object), path);
  });
});
