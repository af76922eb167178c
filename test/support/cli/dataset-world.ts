import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attestFiles } from '../../../src/control/datasets/attest.ts';
import { type AttestationKey, makeAttestationKey } from '../../../src/control/datasets/keys.ts';
import { ask } from '../../../src/process/dns-client.ts';
import { RRTYPE } from '../../../src/protocol/dns/codes.ts';
import { nameFromText } from '../../../src/protocol/dns/name.ts';
import { txtValue } from '../../../src/protocol/dns/rdata/rdata.ts';
import type { Uqrp } from '../server-process.ts';

export const REGISTRY_ENV = { UQRP_DATASETS: 'on', UQRP_DATASETS_ASOF: 'on', UQRP_WORKERS: '1' } as const;

export interface PublishedVersion {
  readonly version: string;
  /** Files to import. */
  readonly signed: string;
  readonly items: string;
  readonly sha256: string;
}

/** Makes versions of one dataset whose items tell which version they are of, and asks a server for them. */
export class DatasetWorld {
  readonly slug = 'serial';
  readonly #folder: string;
  readonly #key: AttestationKey;
  readonly #count: number;

  /** @param dataDir gets an attestation key. @param count items of each version */
  constructor(dataDir: string, folder: string, count: number) {
    this.#folder = folder;
    this.#count = count;
    this.#key = makeAttestationKey(dataDir, Date.now());
  }

  publish(version: string): PublishedVersion {
    const { slug } = this;
    const path = (name: string): string => join(this.#folder, `${version}-${name}`);
    const [manifest, items, signed] = [path('manifest.json'), path('items.jsonl'), path('signed.json')];
    const stated = { slug, version, license: 'CC0-1.0', provenance: 'made up', url: 'https://example.net/a' };
    writeFileSync(manifest, JSON.stringify(stated));
    const lines = Array.from({ length: this.#count }, (_, i) => {
      const facts = { issuer: 'Example', brand: version, cc: 'ZZ', type: 'sample' };
      return [
        JSON.stringify({ k: itemKey(i), from: null, to: '2020-02-29', ...facts, brand: 'before' }),
        JSON.stringify({ k: itemKey(i), from: '2020-02-29', to: null, ...facts }),
      ].join('\n');
    });
    writeFileSync(items, `${lines.join('\n')}\n`);
    const attested = attestFiles({ manifest, items }, this.#key, Date.now(), { sortFolder: this.#folder });
    writeFileSync(signed, JSON.stringify(attested));
    return { version, signed, items, sha256: attested.sha256 };
  }

  /** Version and hash that the manifest over DNS has, or null. */
  async manifest(server: Uqrp): Promise<{ version: string; sha256: string } | null> {
    const fields = await fieldsOf(server, `manifest.${this.slug}`);
    return fields === null ? null : { version: fields.get('ver')!, sha256: fields.get('sha256')! };
  }

  /** Which version answers for the item, or null. */
  async versionOfItem(server: Uqrp, item: number): Promise<string | null> {
    const fields = await fieldsOf(server, `identity.${this.slug}-k-${itemKey(item)}`);
    return fields?.get('brand') ?? null;
  }
}

/** In ascending order, as numbers are. */
export function itemKey(item: number): string {
  return `i${String(item).padStart(8, '0')}`;
}

async function fieldsOf(server: Uqrp, name: string): Promise<Map<string, string> | null> {
  const reply = await ask(nameFromText(`${name}.datasets.public.v1.uqrp.net`)!, RRTYPE.TXT, {
    server: { host: '127.0.0.1', port: server.ports.dns, ca: null },
    transport: 'udp',
    deadlineMs: 5000,
  });
  assert.equal(reply.rcode, 0, name);
  const rdata = reply.answer[0]?.rdata;
  if (rdata === undefined) return null;
  const fields = Buffer.from(txtValue(rdata)!).toString().split(';');
  return new Map(
    fields.map((field) => [field.slice(0, field.indexOf('=')), field.slice(field.indexOf('=') + 1)]),
  );
}
