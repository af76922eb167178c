import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** DNS messages and signed payloads as the readers of device/ see them. */

export const HEADER = 12;
/** Pointer to the name of the question (RFC 1035 §4.1.4). */
const POINTER = Buffer.from([0xc0, HEADER]);
const TXT = 16;

/** A query as the readers have to write it, with EDNS of this size (0: without). */
export function queryOf(
  key: string,
  { token = '', zone = 'uqrp.net', id = 0x1234, size = 1232 } = {},
): Buffer {
  const name = ['get', ...(token === '' ? [] : [`auth-${token}`]), ...key.split('.'), ...zone.split('.')];
  const head = Buffer.from([id >> 8, id & 0xff, 1, 0, 0, 1, 0, 0, 0, 0, 0, size === 0 ? 0 : 1]);
  const edns = size === 0 ? [] : [0, 0, 41, size >> 8, size & 0xff, 0, 0, 0, 0, 0, 0];
  return Buffer.concat([head, wireName(name), Buffer.from([0, TXT, 0, 1, ...edns])]);
}

function wireName(labels: readonly string[]): Buffer {
  return Buffer.concat([
    ...labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])),
    Buffer.from([0]),
  ]);
}

export interface Answer {
  readonly owner?: Buffer;
  readonly type?: number;
  readonly classCode?: number;
  readonly ttl?: number;
  readonly rdata: Buffer;
}

/** Character strings of a TXT record, of at most `length` octets each. */
export function strings(text: string | Buffer, length = 255): Buffer {
  const octets = typeof text === 'string' ? Buffer.from(text, 'latin1') : text;
  const found: Buffer[] = [];
  for (let at = 0; at < octets.length; at += length) {
    const part = octets.subarray(at, at + length);
    found.push(Buffer.from([part.length]), part);
  }
  return Buffer.concat(found);
}

/** A reply to `query` with these answers. `flags`: the octets 2 and 3 of the header. */
export function replyOf(query: Buffer, answers: readonly Answer[], flags = 0x8580): Buffer {
  const end = query.indexOf(Buffer.from([0, 0, TXT, 0, 1]), HEADER) + 5;
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(flags, 2);
  head.writeUInt16BE(answers.length, 6);
  head.writeUInt16BE(0, 10);
  const records = answers.map(({ owner = POINTER, type = TXT, classCode = 1, ttl = 60, rdata }) => {
    const fixed = Buffer.alloc(10);
    fixed.writeUInt16BE(type, 0);
    fixed.writeUInt16BE(classCode, 2);
    fixed.writeUInt32BE(ttl, 4);
    fixed.writeUInt16BE(rdata.length, 8);
    return Buffer.concat([owner, fixed, rdata]);
  });
  return Buffer.concat([head, ...records]);
}

/** The reply with one record of this envelope. */
export function replyWith(query: Buffer, envelope: string | Buffer): Buffer {
  return replyOf(query, [{ rdata: strings(envelope) }]);
}

export function envelopeOf(data: Buffer, encoding: 'b64' | 'plain' = 'b64'): string {
  const text = encoding === 'b64' ? data.toString('base64') : data.toString('latin1');
  return `v=svc1;s=ok;t=data;e=${encoding};f=bin;ttl=60;d=${text}`;
}

/** Seed 00 01 .. 1f: the key of the published vector. */
export const SEED = Buffer.from(Array.from({ length: 32 }, (_, index) => index));

function signingKey(seed: Buffer): KeyObject {
  // The fixed octets of PKCS 8 before an Ed25519 seed (RFC 8410 §7).
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

export function publicKeyOf(seed: Buffer): Buffer {
  return createPublicKey(signingKey(seed)).export({ format: 'der', type: 'spki' }).subarray(-32);
}

/** A payload signed for a record: form 3, key id, milliseconds, signature, payload. */
export function signedPayload(key: string, milliseconds: number, payload: Buffer, seed = SEED): Buffer {
  const head = Buffer.alloc(15);
  head.writeUInt8(3);
  createHash('sha256').update(publicKeyOf(seed)).digest().copy(head, 1, 0, 8);
  head.writeUIntBE(milliseconds, 9, 6);
  const message = Buffer.concat([Buffer.from(`uqrp-signed-3\n${key.toLowerCase()}\n`), head, payload]);
  return Buffer.concat([head, sign(null, message, signingKey(seed)), payload]);
}

/** Ed25519 over octets in hexadecimal, for readers that have none. */
export function isSigned(signature: string, publicKey: string, message: string): boolean {
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey, 'hex').toString('base64url') },
    format: 'jwk',
  });
  return verify(null, Buffer.from(message, 'hex'), key, Buffer.from(signature, 'hex'));
}
