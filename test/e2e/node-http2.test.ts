import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { RRTYPE } from '../../src/edge/wire/codes.ts';
import { decodeMessage } from '../../src/edge/wire/message/message.ts';
import { encodeQuery } from '../../src/edge/wire/message/query.ts';
import { nameFromText } from '../../src/edge/wire/name.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';

describe('a server with UQRP_HTTP2=node', () => {
  let server: Uqrp;
  before(async () => {
    server = await startUqrp({ UQRP_HTTP2: 'node', UQRP_WORKERS: '1' });
  });
  after(() => server.remove());

  it('answers a DNS query over HTTP/2', async () => {
    const query = encodeQuery(nameFromText('get.100-km-to-mi.units.public.v1.uqrp.net')!, RRTYPE.TXT, {
      id: 0,
      rd: true,
      edns: { payload: 1232, dnssecOk: true },
    });
    const session = connect(`https://localhost:${server.ports.doh}`, { rejectUnauthorized: false });
    try {
      const stream = session.request({
        ':path': `/dns-query?dns=${Buffer.from(query).toString('base64url')}`,
      });
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      assert.equal(headers[':status'], 200);
      await once(stream, 'end');
      const reply = decodeMessage(Buffer.concat(chunks));
      assert.ok(reply?.answer.some(({ type }) => type === RRTYPE.TXT));
    } finally {
      session.destroy();
    }
  });
});
