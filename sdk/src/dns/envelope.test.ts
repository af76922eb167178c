import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import dnsPacket from 'dns-packet';
import fc from 'fast-check';
import { hostedEnvelope } from '../../../src/dns/query/resolve.ts';
import {
  ENVELOPE_ERRORS,
  type EnvelopeErrorCode,
  errorEnvelope,
} from '../../../src/protocol/query/envelope.ts';
import { flatEnvelope } from '../../../src/services/answers.ts';
import { allServices } from '../../../test/support/services/all-services.ts';
import { COMPUTED_FIELDS } from './computed-fields.ts';
import { decodeReply } from './doh.ts';
import { readEnvelope } from './envelope.ts';
import { ServiceError, Unreadable } from './errors.ts';
import { encodeQuery } from './message/message.ts';
import { FORECAST_DAY, SERVICE_FIELDS } from './service-fields.ts';

/** The bit of the header that asks for recursion (RFC 1035, section 4.1.1). */
const RECURSION_DESIRED = 0x0100;
const SEED = { seed: 11, numRuns: 300 };

describe('envelopes', () => {
  it('of records come out as they were written', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(2 ** 31 - 1), (data, ttl) => {
        const text = hostedEnvelope({ data, plain: false, format: 'json', ttlSeconds: ttl }).toString(
          'latin1',
        );
        const read = readEnvelope(text);
        assert.deepEqual([...(read.data ?? [])], [...data]);
        assert.deepEqual([read.format, read.ttlHint], ['json', ttl]);
      }),
      SEED,
    );
  });

  it('of services come out as they were written', () => {
    const value = fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.toWellFormed());
    fc.assert(
      fc.property(value, (text) => {
        const read = readEnvelope(flatEnvelope({ a: text, b: 1.5 }).toString('latin1'));
        assert.deepEqual([read.fields.get('a'), read.fields.get('b'), read.data], [text, '1.5', null]);
      }),
      SEED,
    );
  });

  it('data may hold semicolons and fields of its own', () => {
    const { data, fields } = readEnvelope('v=svc1;s=ok;t=data;e=plain;f=text;x=1;d=a;b=c;d=\xe9');
    assert.equal(Buffer.from(data ?? []).toString('latin1'), 'a;b=c;d=\xe9');
    assert.equal(fields.get('x'), '1');
    assert.equal(fields.has('b'), false);
  });

  it('of errors throw, with the code and the time to wait', () => {
    for (const code of Object.keys(ENVELOPE_ERRORS) as EnvelopeErrorCode[]) {
      const wanted = { name: 'ServiceError', code, message: `${code}: ${ENVELOPE_ERRORS[code]}` };
      assert.throws(() => readEnvelope(errorEnvelope(code)), { ...wanted, retryAfter: null });
      assert.throws(() => readEnvelope(errorEnvelope(code, 9)), { ...wanted, retryAfter: 9 });
    }
    assert.throws(() => readEnvelope(errorEnvelope('E010')), { status: 'ratelimit' });
  });

  it('other texts are unreadable', () => {
    for (const text of [
      '',
      'x',
      'v=svc2;s=ok;t=data;d=',
      'v=svc1;s=ok;t=data;e=aes;d=x',
      'v=svc1;s=ok;;d=',
      '=a',
    ]) {
      assert.throws(() => readEnvelope(text), Unreadable, text);
    }
    assert.throws(() => readEnvelope('v=svc1;s=ok;t=data;e=b64;d=!'), Unreadable);
    assert.throws(() => readEnvelope('v=svc1;s=ok;t=data;a=%ff'), Unreadable);
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('v', '=', 's', 'c', '1', ';', 'd', '%', 'o', 'k') }),
        (text) => {
          try {
            readEnvelope(`v=svc1;s=ok;${text}`);
          } catch (error) {
            assert.ok(error instanceof Unreadable || error instanceof ServiceError);
          }
        },
      ),
      SEED,
    );
  });
});

describe('DNS messages', () => {
  it('a question is one for TXT, with EDNS, of a length that says little', () => {
    for (const name of [
      'get.a.acme.v1.uqrp.net',
      `get.auth-svcq${'0'.repeat(52)}.${'a'.repeat(63)}.b.acme.v1.uqrp.net`,
    ]) {
      const octets = encodeQuery(name);
      assert.equal(octets.length % 128, 0);
      const { questions, additionals, flags, id } = dnsPacket.decode(Buffer.from(octets));
      assert.deepEqual(questions, [{ name, type: 'TXT', class: 'IN' }]);
      assert.deepEqual([id, flags], [0, RECURSION_DESIRED]);
      assert.deepEqual(
        additionals?.map(({ type }) => type),
        ['OPT'],
      );
    }
  });

  it('a reply gives its texts, its least TTL and its extended error', () => {
    const record = { type: 'TXT', name: 'a.uqrp.net' } as const;
    const strings = [Buffer.from('a'.repeat(255)), Buffer.from([0xe9, 0])];
    const error = { code: 15, data: Buffer.from('\0\0unknown unit', 'latin1') };
    const octets = dnsPacket.encode({
      type: 'response',
      flags: 5,
      questions: [{ type: 'TXT', name: 'a.uqrp.net' }],
      answers: [
        { ...record, ttl: 60, data: strings },
        { ...record, ttl: 30, data: 'b' },
      ],
      additionals: [
        {
          type: 'OPT',
          name: '.',
          udpPayloadSize: 1232,
          extendedRcode: 0,
          ednsVersion: 0,
          flags: 0,
          flag_do: false,
          options: [error],
        } as never,
      ],
    });
    const expected = { rcode: 5, texts: [`${'a'.repeat(255)}\xe9\0`, 'b'], ttl: 30, detail: 'unknown unit' };
    assert.deepEqual(decodeReply(octets), expected);
    for (let length = 0; length < octets.length; length += 1) {
      assert.throws(() => decodeReply(octets.subarray(0, length)), RangeError, String(length));
    }
  });

  it('any octets are a reply or a RangeError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (octets) => {
        try {
          decodeReply(octets);
        } catch (error) {
          assert.ok(error instanceof RangeError);
        }
      }),
      { seed: 11, numRuns: 2000 },
    );
  });
});

describe('the types of the public services', () => {
  it('have the fields of their descriptions, optional where those are', () => {
    const tables = { ...SERVICE_FIELDS, ...COMPUTED_FIELDS };
    const described = allServices().filter(({ resource }) => resource !== 'btc');
    assert.deepEqual(
      described.map(({ resource }) => resource).sort(),
      ['forecast', ...Object.keys(tables)].sort(),
    );
    for (const { resource, about } of described) {
      const own = Object.entries(about.schema.properties).map(([name, { type }]) => {
        const kind = type === 'string' ? 'text' : 'number';
        return [name, about.schema.required.includes(name) ? kind : `${kind}?`] as const;
      });
      const ours =
        resource === 'forecast'
          ? [0, 1, 2].flatMap((day) =>
              Object.entries(FORECAST_DAY).map(([name, kind]) => [name + day, kind] as const),
            )
          : Object.entries(tables[resource as keyof typeof tables]);
      const times = own.filter(([name]) => !['loc', 'n'].includes(name) || resource !== 'forecast');
      const hasTime = resource !== 'forecast' && !about.schema.description.includes('has no ts');
      const wanted = hasTime ? [...times, ['ts', 'number'] as const] : times;
      assert.deepEqual(Object.fromEntries(ours), Object.fromEntries(wanted), resource);
    }
  });
});
