import { generateKeySet, keySetData } from '../../src/dns/dnssec/key-set.ts';
import type { SigningMode } from '../../src/dns/dnssec/signer.ts';
import { type DatasetSettings, datasetService, type PublicService } from '../../src/dns/query/operations.ts';
import { makePacketHandler } from '../../src/dns/query/packet.ts';
import type { PacketHandler } from '../../src/dns/shared/handler.ts';
import { servedZones } from '../../src/process/node/settings.ts';
import type { ChangeBody } from '../../src/protocol/change.ts';
import { queryTokenDigest, spellQueryToken } from '../../src/protocol/query/query-token.ts';
import { announcedApply, createFreshness } from '../../src/view/freshness.ts';
import { createMemoryView } from '../support/view/memory-view.ts';

export const ZONE = 'uqrp.net';

export interface NodeSettings {
  readonly sync?: boolean;
  readonly demo?: boolean;
  /** Unsigned when not given. */
  readonly dnssec?: SigningMode;
  readonly services?: readonly PublicService[];
  /** The dataset registry is off when not given. */
  readonly datasets?: DatasetSettings;
}

/** A DNS node without sockets: a packet handler on a memory view, with a clock that the test sets. */
export class TestNode {
  readonly handler: PacketHandler;
  now = Date.UTC(2026, 0, 1);
  private readonly view = createMemoryView();
  private readonly freshness = createFreshness();
  private seq = 0;

  constructor(settings: NodeSettings = {}) {
    const sync = settings.sync ?? true;
    this.handler = makePacketHandler({
      view: this.view,
      access: { sync, demo: settings.demo ?? false },
      services: new Map(
        [...(settings.services ?? []), ...this.registry(settings)].map((service) => [
          service.resource,
          service,
        ]),
      ),
      zones: servedZones({
        zones: [ZONE],
        nameServers: [
          { label: 'ns1', addresses: ['192.0.2.1'] },
          { label: 'ns2', addresses: ['192.0.2.2', '2001:db8::2'] },
        ],
        mode: settings.dnssec ?? 'full',
        keys: settings.dnssec === undefined ? [] : [keySetData(generateKeySet(ZONE, this.now))],
        clock: () => this.now,
      }),
      identity: 'test-node',
      freshness: this.freshness,
      clock: () => this.now,
    });
  }

  private registry({ datasets }: NodeSettings): readonly PublicService[] {
    return datasets === undefined ? [] : [datasetService(this.view.datasets, datasets)];
  }

  async apply(...changes: readonly ChangeBody[]): Promise<void> {
    this.seq += changes.length;
    await announcedApply(this.view, this.freshness)(changes, this.seq);
  }

  async namespace(
    namespace: string,
    flags: { publicRead?: boolean; suspended?: boolean; maxTtl?: number } = {},
  ): Promise<void> {
    await this.apply({
      type: 'namespace.upserted',
      namespace,
      id: '00000000-0000-4000-8000-000000000000',
      publicRead: flags.publicRead ?? false,
      suspended: flags.suspended ?? false,
      ...(flags.maxTtl !== undefined && { maxTtl: flags.maxTtl }),
      recordsCount: 0,
      createdAt: this.now,
      updatedAt: this.now,
    });
  }

  /** Issues a token with a lifetime of `seconds`. Its plaintext depends only on `label`. */
  async token(label: string, namespace: string, seconds: number): Promise<string> {
    const token = spellQueryToken(Buffer.alloc(32, label));
    const expiresAt = this.now + seconds * 1000;
    await this.apply({ type: 'token.minted', namespace, digest: queryTokenDigest(token), expiresAt });
    return token;
  }

  async revoke(token: string, namespace: string): Promise<void> {
    await this.apply({ type: 'token.revoked', namespace, digest: queryTokenDigest(token) });
  }

  async record(
    key: string,
    data: Buffer,
    more: { contentType?: string; ttl?: number; expires?: number | null } = {},
  ) {
    const labels = key.split('.');
    const expires = more.expires ?? null;
    await this.apply({
      type: 'record.upserted',
      key,
      namespace: labels.at(-2)!,
      resource: labels.at(-3)!,
      version: labels.at(-1)!,
      data: data.toString('base64'),
      contentType: more.contentType ?? 'text/plain',
      ttlSeconds: more.ttl ?? 300,
      expiresAt: expires === null ? null : this.now + expires * 1000,
    });
  }

  /** Handles one query as a transport does. */
  async ask(query: Uint8Array, transport: 'udp' | 'tcp' = 'udp', cached = true): Promise<Uint8Array | null> {
    const out = Buffer.alloc(65_535);
    const length = cached ? this.handler.hot(query, query.length, transport, out) : 0;
    return length > 0
      ? out.subarray(0, length)
      : await this.handler.slow(query, transport, transport !== 'udp');
  }
}
