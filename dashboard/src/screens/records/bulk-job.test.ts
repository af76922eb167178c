import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, ConnectionError } from '../../../../sdk/src/uqrp-sdk.ts';
import { type BulkItem, bulkJob, progressOf, runBulk, stepsOf } from './bulk-job.ts';

function items(count: number): BulkItem[] {
  return Array.from({ length: count }, (_, n) => ({
    key: `k${n}.a.acme.v1`,
    record: { key: `k${n}.a.acme.v1`, data: '' },
  }));
}

function apiError(status: number, messages: readonly string[], retryAfter: number | null = null): ApiError {
  return new ApiError({ status, code: 'unknown', messages, requestId: null, retryAfter });
}

/** Takes requests one after the other; each script entry is an error to throw, or null to do the request. */
function server(script: readonly (Error | null)[] = []) {
  const sent: { count: number; key: string }[] = [];
  const waited: number[] = [];
  const ports = {
    write: async (chunk: readonly BulkItem[], key: string) => {
      const fault = script[sent.length] ?? null;
      sent.push({ count: chunk.length, key });
      if (fault !== null) throw fault;
    },
    wait: async (ms: number) => {
      waited.push(ms);
    },
    show: () => undefined,
  };
  return { sent, waited, ports };
}

const never = new AbortController().signal;

describe('a bulk job', () => {
  it('writes 500 items a request', async () => {
    const { sent, ports } = server();
    const job = bulkJob('j', items(1201));
    assert.deepEqual(await runBulk(job, ports, never), { kind: 'done' });
    assert.deepEqual(
      sent.map(({ count }) => count),
      [500, 500, 201],
    );
    assert.equal(stepsOf(1201), 3);
    assert.deepEqual(progressOf(job, null), { done: 1201, refused: 0, total: 1201, waits: null });
  });

  it('goes on where it stopped, with the same key for the request whose end is unknown', async () => {
    const { sent, ports } = server([null, new ConnectionError(null)]);
    const job = bulkJob('j', items(700));
    assert.deepEqual(await runBulk(job, ports, never), { kind: 'offline' });
    assert.equal(progressOf(job, null).done, 500);
    assert.deepEqual(await runBulk(job, ports, never), { kind: 'done' });
    assert.deepEqual(
      sent.map(({ key }) => key),
      ['j-0-500', 'j-500-200', 'j-500-200'],
    );
  });

  it('leaves out what the server refuses, and writes the rest of the step', async () => {
    const faults = [
      'records[3].data is not strict Base64',
      'records[3].ttl_seconds is wrong',
      'records[0].key is taken',
    ];
    const { sent, ports } = server([null, apiError(422, faults)]);
    const job = bulkJob('j', items(510));
    assert.deepEqual(await runBulk(job, ports, never), { kind: 'done' });
    assert.deepEqual(
      sent.map(({ count }) => count),
      [500, 10, 8],
    );
    assert.deepEqual(job.outcomes[503], {
      kind: 'refused',
      message: 'data is not strict Base64; ttl_seconds is wrong',
    });
    assert.deepEqual(job.outcomes[500], { kind: 'refused', message: 'key is taken' });
    assert.deepEqual(job.outcomes[509], { kind: 'done' });
    assert.notEqual(sent[1]?.key, sent[2]?.key);
  });

  it('waits as long as the limit of writes says', async () => {
    const { waited, ports } = server([apiError(429, ['too many'], 34)]);
    assert.deepEqual(await runBulk(bulkJob('j', items(1)), ports, never), { kind: 'done' });
    assert.deepEqual(waited, [34_000]);
  });

  it('ends with a refusal that is about no item', async () => {
    const error = apiError(422, ['Record limit of the tier reached']);
    const job = bulkJob('j', items(2));
    assert.deepEqual(await runBulk(job, server([error]).ports, never), { kind: 'failed', error });
    assert.equal(progressOf(job, null).done, 0);
  });

  it('stops between two requests', async () => {
    const stop = new AbortController();
    const { sent, ports } = server();
    const job = bulkJob('j', items(1500));
    const show = (): void => (sent.length === 1 ? stop.abort() : undefined);
    assert.deepEqual(await runBulk(job, { ...ports, show }, stop.signal), { kind: 'stopped' });
    assert.equal(progressOf(job, null).done, 500);
    assert.deepEqual(await runBulk(job, ports, never), { kind: 'done' });
    assert.equal(sent.length, 3);
  });
});
