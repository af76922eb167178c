import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { QUERIES, REPLIES, SIGNED_RECORDS } from '../support/device/cases.ts';
import { isSigned } from '../support/device/messages.ts';

/** The package is a build of MicroPython for the browser; it has no types. */
const ENGINE = '../../node_modules/@micropython/micropython-webassembly-pyscript/micropython.mjs';
const MODULE = readFileSync(new URL('../../device/uqrp.py', import.meta.url), 'utf8');

interface MicroPython {
  readonly globals: { get(name: string): (...args: readonly unknown[]) => string };
  registerJsModule(name: string, module: object): void;
  runPython(code: string): void;
}

/** The module's functions with octets in hexadecimal. */
const BRIDGE = `
import binascii, host, uqrp
octets = bytes.fromhex

def text(data):
    return "-" if data is None else "=" + hexed(data)

# bytes.hex() of no octets gives bytes, not text.
def hexed(data):
    return binascii.hexlify(data).decode()

def query(id, key, token, zone, size):
    try:
        return uqrp.query(id, key, token, zone, size).hex()
    except ValueError:
        return "-"

def reply(asked, got):
    result, r = uqrp.reply(octets(asked), octets(got))
    if r is None:
        return result
    return " ".join((result, text(r.data), str(r.ttl_hint), str(r.dns_ttl), hexed(r.fields)))

def signed(data, key, keys, latest):
    keys = [octets(one) for one in keys.split(" ")] if keys else []
    verify = lambda signature, public, message: host.verify(hexed(signature), hexed(public), hexed(message))
    result, payload, latest = uqrp.signed(octets(data), key, keys, octets(latest), verify)
    return result + " " + text(payload) + " " + hexed(latest)

def field(asked, got, name):
    return repr(uqrp.reply(octets(asked), octets(got))[1].field(name))
`;

describe('the MicroPython module', () => {
  let call: (name: string, ...args: readonly unknown[]) => string;

  before(async () => {
    const { loadMicroPython } = (await import(ENGINE)) as {
      loadMicroPython: (options: object) => Promise<MicroPython>;
    };
    // As much memory as an ESP32 without further RAM gives to Python.
    const python = await loadMicroPython({ heapsize: 100_000 });
    python.registerJsModule('host', { verify: isSigned });
    // Its file system is in memory: the module is imported as on a device.
    python.registerJsModule('source', { text: MODULE });
    python.runPython('import source\nwith open("uqrp.py", "w") as f:\n    f.write(source.text)\ndel source');
    python.runPython(BRIDGE);
    call = (name, ...args) => python.globals.get(name)(...args);
  });

  it('writes queries, and none for names that are not possible', () => {
    for (const { key, token, zone, size, query } of QUERIES)
      assert.equal(call('query', 0x1234, key, token, zone, size), query?.toString('hex') ?? '-', key);
  });

  it('makes of each reply what it is', () => {
    for (const { name, query, reply, result, ...record } of REPLIES) {
      const [found, data, ttlHint, dnsTtl, fields] = call(
        'reply',
        query.toString('hex'),
        reply.toString('hex'),
      ).split(' ');
      assert.equal(found, result, name);
      if (record.data !== undefined)
        assert.equal(data, record.data === null ? '-' : `=${record.data.toString('hex')}`, name);
      if (record.ttlHint !== undefined) assert.equal(Number(ttlHint), record.ttlHint, name);
      if (record.dnsTtl !== undefined) assert.equal(Number(dnsTtl), record.dnsTtl, name);
      if (record.fields !== undefined) assert.equal(fields, Buffer.from(record.fields).toString('hex'), name);
    }
  });

  it('takes what a pinned key has signed for this record, and nothing older', () => {
    for (const { name, key, keys, latest, data, result, payload, after = latest } of SIGNED_RECORDS) {
      const pinned = keys.map((each) => each.toString('hex')).join(' ');
      const found = call('signed', data.toString('hex'), key, pinned, latest.toString('hex'));
      const value = payload === undefined ? '-' : `=${payload.toString('hex')}`;
      assert.equal(found, `${result} ${value} ${after.toString('hex')}`, name);
    }
  });

  it('finds fields of an answer', () => {
    const { query, reply } = REPLIES.find(({ name }) => name === 'fields only')!;
    const field = (name: string) => call('field', query.toString('hex'), reply.toString('hex'), name);
    assert.deepEqual(['val', 'from', 'va', 'none'].map(field), ["b'100'", "b'km'", 'None', 'None']);
  });
});
