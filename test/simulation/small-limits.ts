import type { PlantedText } from '../../scripts/plant.ts';

/** Limits that some processes of a run have in place of the product's, so that what happens at a limit happens often. */
export const SMALL_LIMITS: readonly PlantedText[] = [
  { file: 'src/feed/publish/line.ts', from: 'const WAITING_MAX = 256;', to: 'const WAITING_MAX = 2;' },
  { file: 'src/feed/follower/follower.ts', from: 'const PART = 2000;', to: 'const PART = 3;' },
  { file: 'src/base/limits.ts', from: 'team: { records: 500_000,', to: 'team: { records: 5,' },
  { file: 'src/base/limits.ts', from: 'namespacesPerCustomer: 1000,', to: 'namespacesPerCustomer: 2,' },
  { file: 'src/base/limits.ts', from: 'datasetChangeItems: 100,', to: 'datasetChangeItems: 2,' },
  // A transparency log of many tiles, of several levels.
  { file: 'src/protocol/transparency/tiles.ts', from: 'TILE_LEVELS = 8;', to: 'TILE_LEVELS = 1;' },
  { file: 'src/protocol/transparency/tiles.ts', from: 'TILE_WIDTH = 256;', to: 'TILE_WIDTH = 2;' },
];
