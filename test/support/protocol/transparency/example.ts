/** The small transparency log of test/fixtures/transparency, and private keys from seeds. */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';

const FOLDER = new URL('../../../fixtures/transparency/', import.meta.url);

/** PKCS #8 of an Ed25519 private key, before its seed (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

const seeds = JSON.parse(exampleText('seeds.json')) as { log: string; witness: string };

export const EXAMPLE = {
  origin: 'api.example.net/log',
  witness: 'witness.example.org/w1',
  /** When the witness cosigned. */
  time: 1_795_651_202,
  logKey: privateKeyOf(seeds.log),
  witnessKey: privateKeyOf(seeds.witness),
};

export function exampleOctets(name: string): Buffer {
  return readFileSync(new URL(name, FOLDER));
}

export function exampleText(name: string): string {
  return exampleOctets(name).toString('utf8');
}

/** @param seed 32 octets in hexadecimal */
export function privateKeyOf(seed: string): KeyObject {
  return createPrivateKey({
    key: Buffer.concat([PKCS8, Buffer.from(seed, 'hex')]),
    format: 'der',
    type: 'pkcs8',
  });
}
