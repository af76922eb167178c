import type { ViewTarget } from './apply.ts';
import { datasetTarget } from './datasets/dataset-table.ts';
import { hostedTarget } from './hosted/record-table.ts';
import type { Tree } from './lmdb/tree.ts';

/** All tables of a tree, for changes inside one write transaction. @param onErase called when hosted data was removed */
export function treeTarget(tree: Tree, onErase: () => void): ViewTarget {
  return { ...hostedTarget(tree, onErase), ...datasetTarget(tree) };
}
