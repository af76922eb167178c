import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { signatureHeader } from '../../../src/control/webhooks/send-attempt.ts';
import { block } from '../../../test/support/sdk/guide.ts';
import {
  makeProject,
  type Project,
  post,
  type Receiver,
  startReceiver,
} from '../../../test/support/sdk/project.ts';
import { typeFaults } from '../../../test/support/sdk/type-check.ts';

const SECRET = createHmac('sha256', 'a').update('signing').digest('hex');
const JSON_TYPE = { 'content-type': 'application/json' };

describe('the guide: receivers', () => {
  const receivers = [
    ['ts receiver.ts', process.execPath],
    ['js receiver.mjs', process.execPath],
    ['js with-stripe.mjs', process.execPath],
    ['js express.mjs', process.execPath],
    ['js fastify.mjs', process.execPath],
    ['js hono.mjs', process.execPath],
    ['python receiver.py', 'python3'],
    ['go receiver.go', 'go'],
  ] as const;
  let project: Project;
  before(async () => {
    project = await makeProject();
  });
  after(() => project.remove());

  it('the TypeScript one has no fault of types', () => {
    const text = block('ts receiver.ts');
    const sound = project.write('receiver.ts', text);
    const broken = project.write('broken.ts', text.replace('payload.event', 'payload.evnt'));
    const faults = typeFaults([sound, broken]);
    assert.deepEqual(faults[0], []);
    assert.match(faults[1]?.[0]?.message ?? '', /evnt/);
  });

  for (const [info, program] of receivers) {
    describe(info, () => {
      let receiver: Receiver;
      const isMissing = spawnSync(program, ['version'], { stdio: 'ignore' }).error !== undefined;
      const skip = isMissing ? `${program} is not on this machine` : false;
      before(async () => {
        if (isMissing) return;
        const path = project.write(info.split(' ')[1] ?? '', block(info));
        receiver = await (program === 'go'
          ? startReceiver(compiled(path), path, SECRET)
          : startReceiver(program, path, SECRET));
      });
      after(() => receiver?.stop());
      it('takes what is genuine and turns down the rest', { skip }, () => checkAll(receiver.port));
    });
  }

  it('the TypeScript one applies nothing twice, and nothing late', async () => {
    const path = project.write('receiver.ts', block('ts receiver.ts'));
    const receiver = await startReceiver(process.execPath, path, SECRET);
    const deliveries: readonly [body: string, line: string | null][] = [
      [upserted(5), 'record.upserted 5 a.status.acme.v1'],
      [upserted(5), null],
      [deleted(9), 'record.deleted 9 a.status.acme.v1'],
      [upserted(7), null],
      [upserted(12), 'record.upserted 12 a.status.acme.v1'],
      [upserted(3, 'b.status.acme.v1'), 'record.upserted 3 b.status.acme.v1'],
      [namespaceDeleted(13), null],
    ];
    try {
      for (const [body] of deliveries) assert.equal(await send(receiver.port, body), 204);
      assert.deepEqual(
        receiver.lines,
        deliveries.map(([, line]) => line).filter((line) => line !== null),
      );
    } finally {
      await receiver.stop();
    }
  });
});

/** The program that `go build` makes of a file. */
function compiled(path: string): string {
  const program = `${path}.program`;
  execFileSync('go', ['build', '-o', program, path], { env: { GO111MODULE: 'off', ...process.env } });
  return program;
}

const UMLAUT = 'grüße.status.acme.v1';

function upserted(seq: number, key = 'a.status.acme.v1'): string {
  const record = { namespace: 'acme', resource: 'status', version: 'v1', content_type: 'text/plain' };
  const data = { key, ...record, ttl_seconds: 300, data: 'b2s=' };
  return JSON.stringify({ event: 'record.upserted', seq, created_at: '2026-09-21T13:33:20.000Z', data });
}

function deleted(seq: number): string {
  const data = { key: 'a.status.acme.v1', namespace: 'acme' };
  return JSON.stringify({ event: 'record.deleted', seq, created_at: '2026-09-21T13:33:20.000Z', data });
}

function namespaceDeleted(seq: number): string {
  const created_at = '2026-09-21T13:33:20.000Z';
  return JSON.stringify({ event: 'namespace.deleted', seq, created_at, data: { namespace: 'acme' } });
}

/** @param later seconds from now, for `t` */
function sign(body: string, later = 0, secret = SECRET): string {
  return signatureHeader(Buffer.from(body), Math.floor(Date.now() / 1000) + later, secret);
}

function send(port: number, body: string, signature = sign(body)): Promise<number | null> {
  return post(port, body, { ...JSON_TYPE, 'X-Service-Signature': signature });
}

async function checkAll(port: number): Promise<void> {
  const body = upserted(1, UMLAUT);
  const t = Math.floor(Date.now() / 1000);
  const decoded = createHmac('sha256', Buffer.from(SECRET, 'hex')).update(`${t}.${body}`).digest('hex');
  const test = JSON.stringify({
    event: 'webhook.test',
    timestamp: '2026-09-21T13:30:00.000Z',
    data: { message: 'This is a test delivery.', webhook_id: 'an id', webhook_name: 'a name' },
  });
  const cases: readonly [string, string, string, number][] = [
    ['genuine', body, sign(body), 204],
    ['the same again', body, sign(body), 204],
    ['a test', test, sign(test), 204],
    ['290 s old', body, sign(body, -290), 204],
    ['290 s ahead', body, sign(body, 290), 204],
    ['600 s old', body, sign(body, -600), 400],
    ['600 s ahead', body, sign(body, 600), 400],
    ['a changed letter', body, sign(body.replace('acme', 'acmf')), 400],
    ['written out again', JSON.stringify(JSON.parse(body), null, 2), sign(body), 400],
    ['another secret', body, sign(body, 0, '0'.repeat(64)), 400],
    ['the key decoded', body, `t=${t},v1=${decoded}`, 400],
    ['no signature in it', body, `t=${t}`, 400],
    ['no time in it', body, sign(body).replace(/^t=\d+,/, ''), 400],
    ['nonsense', body, 'x', 400],
  ];
  for (const [name, sent, signature, expected] of cases) {
    assert.equal(await send(port, sent, signature), expected, name);
  }
  assert.equal(await post(port, body, JSON_TYPE), 400, 'no header');
  const large = 'x'.repeat(100_000);
  assert.notEqual(await post(port, large, { ...JSON_TYPE, 'X-Service-Signature': 'x' }), 204, 'too large');
  // The connection stays open: who reads on to its end never answers, and keeps all that comes.
  assert.match(await answerTo(port, 'Content-Length: -1'), /^HTTP\/1\.[01] 4/);
  assert.equal(await send(port, body), 204, 'it still stands');
}

/** The beginning of the answer to a POST with this header, which gives no sign of its end. */
async function answerTo(port: number, header: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${header}\r\n\r\n`);
    const [octets] = await once(socket, 'data');
    return String(octets);
  } finally {
    socket.destroy();
  }
}
