import type { PlantedText } from '../../scripts/plant.ts';

function limit(file: string, name: string, from: string, to: number): PlantedText {
  return { file: `src/${file}`, from: `const ${name} = ${from};`, to: `const ${name} = ${to};` };
}

/**
 * Limits that some processes of a run have in place of the product's, so that what happens at a limit happens often: whatever is done in pages,
 * parts or units is done in several.
 */
export const SMALL_LIMITS: readonly PlantedText[] = [
  limit('feed/publish/line.ts', 'WAITING_MAX', '256', 2),
  limit('feed/follower/fill.ts', 'PART', '2000', 3),
  { file: 'src/feed/follower/follower.ts', from: 'batch = 1000 } = options;', to: 'batch = 2 } = options;' },
  { file: 'src/base/limits.ts', from: 'team: { records: 500_000,', to: 'team: { records: 5,' },
  { file: 'src/base/limits.ts', from: 'namespacesPerCustomer: 1000,', to: 'namespacesPerCustomer: 2,' },
  { file: 'src/base/limits.ts', from: 'webhookFailures: 20,', to: 'webhookFailures: 4,' },
  { file: 'src/base/limits.ts', from: 'webhookRestMaxMs: 60_000,', to: 'webhookRestMaxMs: 2_000,' },
  { file: 'src/base/limits.ts', from: 'feedBatchChanges: 1000,', to: 'feedBatchChanges: 2,' },
  { file: 'src/base/limits.ts', from: 'changeStreamRows: 1000,', to: 'changeStreamRows: 2,' },
  { file: 'src/base/limits.ts', from: 'changeStreamPage: 100,', to: 'changeStreamPage: 1,' },
  { file: 'src/base/limits.ts', from: 'datasetChangeItems: 100,', to: 'datasetChangeItems: 2,' },
  // How long resolvers hold the keys of a zone.
  { file: 'src/dns/dnssec/signer.ts', from: 'DNSKEY_TTL = 3600;', to: 'DNSKEY_TTL = 60;' },
  // A transparency log of many tiles, of several levels.
  { file: 'src/protocol/transparency/tiles.ts', from: 'TILE_LEVELS = 8;', to: 'TILE_LEVELS = 1;' },
  { file: 'src/protocol/transparency/tiles.ts', from: 'TILE_WIDTH = 256;', to: 'TILE_WIDTH = 2;' },
  limit('control/transparency/missing.ts', 'UNIT_VERSIONS', '100', 1),
  limit('control/transparency/publish.ts', 'UNIT_PROOFS', '100', 1),
  limit('store/log/change-reader.ts', 'PAGE', '500', 1),
  limit('store/log/recent-changes.ts', 'RECENT_MAX', '1_000', 3),
  limit('feed/receive/live-changes.ts', 'SEEN_MAX', '256', 2),
  limit('feed/receive/repair.ts', 'READS_MAX', '16', 2),
  limit('store/dataset-changes.ts', 'PARTS_A_CALL', '64', 1),
  limit('store/dataset-changes.ts', 'PARTS_A_PAGE', '16', 1),
  limit('control/datasets/versions.ts', 'PAGE', '4', 1),
  limit('control/datasets/import.ts', 'UNIT_PARTS', '48', 1),
  limit('store/upkeep.ts', 'PRUNE_LIMIT', '1_000', 2),
  limit('store/upkeep.ts', 'ERASE_LIMIT', '500', 2),
  limit('store/upkeep.ts', 'PARTS_LIMIT', '16', 1),
  limit('store/usage.ts', 'CHUNK', '50', 1),
  limit('store/version-retention.ts', 'UNIT', '250', 1),
  limit('store/version-retention.ts', 'UNITS', '40', 3),
  limit('store/version-retention.ts', 'KEYS', '100', 1),
  limit('store/audit-retention.ts', 'PAGE', '100', 1),
  limit('store/audit-retention.ts', 'UNIT', '500', 1),
  limit('control/namespaces/deletion.ts', 'PAGE', '100', 1),
  limit('control/namespaces/deletion.ts', 'CLOSING_UNIT', '500', 2),
  limit('control/namespaces/deletion.ts', 'DELETION_UNIT', '250', 1),
  limit('control/namespaces/deletion.ts', 'LOG_UNIT', '1_000', 2),
  limit('control/records/expiry.ts', 'SWEEP_LIMIT', '500', 1),
  limit('control/records/listing.ts', 'BATCH_MIN', '16', 1),
  limit('control/records/listing.ts', 'BATCH_MAX', '200', 1),
  limit('control/changes/pages.ts', 'READ_AT_ONCE', '500', 2),
  limit('control/unit.ts', 'BATCH', '500', 1),
  limit('control/accounts/membership.ts', 'BATCH', '500', 1),
  limit('store/webhooks/fan-out.ts', 'CHUNK', '100', 1),
  limit('control/webhooks/fan-out.ts', 'WEBHOOKS_MAX', '10_000', 2),
  limit('control/webhooks/fan-out.ts', 'SPAN_MAX', '500', 3),
  limit('control/webhooks/fan-out.ts', 'PAGE', '50', 1),
  limit('control/webhooks/fan-out.ts', 'TARGETS_MAX', '500', 1),
  limit('control/webhooks/rules.ts', 'BATCH', '500', 1),
  limit('control/webhooks/loops.ts', 'PAGE', '100', 1),
  limit('control/webhooks/loops.ts', 'BATCH', '500', 1),
  limit('control/webhooks/dispatcher.ts', 'DELIVERIES_MAX', '16', 1),
  limit('control/webhooks/dispatcher.ts', 'CLAIM_MAX', '16', 1),
  limit('control/webhooks/dispatcher.ts', 'WAITING_MAX', '500', 1),
];
