import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { attest, keyTxt, rawPublicKey } from '../../../src/protocol/datasets/attestation.ts';
import { manifestTxt, type SignedManifest } from '../../../src/protocol/datasets/manifest.ts';
import { compareVersions } from '../../../src/protocol/datasets/query.ts';
import { retirementTxt } from '../../../src/protocol/transparency/entries.ts';
import { cosignerKey, keyOf, SmallLog } from '../protocol/transparency/small-log.ts';
import { startTxtServer } from './txt-server.ts';

export const WITNESSES = ['w.example/1', 'w.example/2', 'w.example/3'];

/** Unix second. */
const PUBLISHED = 1_795_305_600;

/** A registry with a transparency log that does what it is told to: an honest one, and one that lies in any way. */
export class WatchedOperator {
  /** What `checkpoint` and tiles show. */
  log = new SmallLog([], 'api.example.net/log');
  /** Size of the published checkpoint; null: all of the log. */
  size: number | null = null;
  cosigners: readonly string[] = WITNESSES.slice(0, 2);
  /** Unix second of the cosignatures. */
  cosignedAt = Math.floor(Date.now() / 1000);
  /** Served manifests, and TXT values of keys. */
  served: SignedManifest[] = [];
  keys: string[] = [];
  /** Over DNS in place of what `served` and `log` say, by label. */
  readonly dns = new Map<string, string>();
  /** False: there is no listing. */
  hasListing = true;
  /** False: HTTP answers 503. */
  answers = true;

  note(size = this.size ?? this.log.leaves.length): string {
    return this.log.note(size, this.cosigners, this.cosignedAt);
  }

  /** The policy of readers: two of three witnesses. */
  policy(url: string): string {
    const witnesses = WITNESSES.map((name, i) => `witness w${i} ${cosignerKey(name)}\n`);
    return `log ${this.log.vkey} ${url}\n${witnesses.join('')}group g 2 w0 w1 w2\nquorum g\n`;
  }

  /** Logs and serves a key. @param end unix second, as `since` */
  addKey(name: string, end: number | null = null, since = PUBLISHED - 60): void {
    const txt = keyTxt({ publicKey: rawPublicKey(keyOf(name)), since, end });
    this.log.append(txt);
    const before = keyTxt({ publicKey: rawPublicKey(keyOf(name)), since, end: null });
    this.keys = [...this.keys.filter((one) => one !== before), txt];
  }

  /** @param key the name of the key. Equal parameters make an equal manifest */
  manifest(slug: string, version: string, key: string, items = 'items', at = PUBLISHED): SignedManifest {
    const stated = { slug, version, license: 'CC0-1.0', provenance: 'made up', url: 'https://example.net/a' };
    return attest(stated, createHash('sha256').update(items).digest('hex'), keyOf(key), at);
  }

  publish(manifest: SignedManifest): void {
    this.log.append(manifestTxt(manifest));
    this.served.push(manifest);
  }

  retire(manifest: SignedManifest): void {
    const { slug, version, sha256 } = manifest;
    this.log.append(retirementTxt({ slug, version, sha256, at: PUBLISHED + 60 }));
    this.unserve(manifest);
  }

  unserve({ slug, version }: SignedManifest): void {
    this.served = this.served.filter((one) => one.slug !== slug || one.version !== version);
  }

  /** Versions of a dataset that are served, the highest first. */
  versionsOf(slug: string): SignedManifest[] {
    return this.served
      .filter((one) => one.slug === slug)
      .toSorted((a, b) => compareVersions(b.version, a.version));
  }

  /** An answer over HTTP; null: 404. */
  http(path: string): string | Uint8Array | null {
    if (path === '/log/checkpoint') return this.note();
    if (path.startsWith('/log/tile/')) {
      const shown = new SmallLog(this.log.leaves.slice(0, this.size ?? undefined), this.log.origin);
      return shown.tile(path.slice('/log/'.length));
    }
    if (!this.hasListing) return null;
    const shown = (manifest: SignedManifest) => ({
      ...manifest,
      items: 1,
      windows: 1,
      octets: 9,
      published_at: '2026-11-22T12:00:00.000Z',
    });
    const one = (slug: string) => {
      const all = this.versionsOf(slug);
      const numbers = all.map(({ version }) => version);
      return { slug, latest: shown(all[0]!), version_numbers: numbers, versions: all.map(shown) };
    };
    const slugs = [...new Set(this.served.map(({ slug }) => slug))].toSorted();
    if (path === '/api/v1/datasets') return JSON.stringify(slugs.map(one));
    const slug = /^\/api\/v1\/datasets\/([a-z-]+)$/.exec(path)?.[1];
    return slug !== undefined && slugs.includes(slug) ? JSON.stringify(one(slug)) : null;
  }

  /** TXT values of `manifest.LABEL.datasets.public.v1`. */
  txt(label: string): readonly string[] {
    const told = this.dns.get(label);
    if (told !== undefined) return told === '' ? [] : [told];
    if (label === 'keys') return this.keys;
    if (label === 'log') return [`v=svc-tindex.v1;e=b64;d=${Buffer.from(this.note()).toString('base64')}`];
    const [slug = '', version] = label.split('-v-');
    const found = this.versionsOf(slug).find(
      (one) => version === undefined || one.version === version.replaceAll('d', '.'),
    );
    return found === undefined ? [] : [manifestTxt(found)];
  }

  /** Serves it over HTTP and DNS. */
  async start(): Promise<{ readonly url: string; readonly dnsPort: number; close(): void }> {
    const server = createServer((request, response) => {
      const path = (request.url ?? '').split('?', 1)[0]!;
      const body = this.answers ? this.http(path) : null;
      response.writeHead(this.answers ? (body === null ? 404 : 200) : 503).end(body ?? '');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const names = await startTxtServer((name) => this.txt(name.split('.')[1]!));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/log`,
      dnsPort: names.port,
      close() {
        server.closeAllConnections();
        server.close();
        names.close();
      },
    };
  }
}
