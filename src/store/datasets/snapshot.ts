import type { ChangeBody } from '../../protocol/change.ts';
import type { SignedManifest } from '../../protocol/datasets/manifest.ts';
import { PUBLIC_NAMESPACE } from '../../protocol/names/labels.ts';
import type { NewBody } from '../log/change-log.ts';
import type { Db } from '../store.ts';
import { emptyRow, itemsChange } from './item-changes.ts';
import { type KeyRow, listKeys } from './keys.ts';
import { partsAfter } from './parts.ts';
import { listVersions, type VersionRow } from './versions.ts';

/** A part has at most 64 KiB of JSON. */
const PARTS_A_PAGE = 16;

/**
 * Keys, and versions with their items, as upserts. A version that is being imported is among them: its items so far are
 * before the head of the log, so the log does not give them again.
 */
export async function* datasetPages(read: Db): AsyncIterable<readonly ChangeBody[]> {
  const keys = await listKeys(read);
  if (keys.length > 0) yield keys.map(keyChange);
  for (const version of await listVersions(read, ['importing', 'served'])) {
    yield* itemPages(read, version.id);
    if (version.state === 'served') yield [publishedChange(version)];
  }
}

export function keyChange(key: KeyRow): NewBody {
  return {
    type: 'dataset.key',
    namespace: PUBLIC_NAMESPACE,
    kid: key.kid,
    publicKey: key.public_key,
    since: key.since,
    end: key.until,
  };
}

export function publishedChange({ id, manifest }: Pick<VersionRow, 'id' | 'manifest'>): NewBody {
  return {
    type: 'dataset.published',
    namespace: PUBLIC_NAMESPACE,
    versionId: id,
    manifest: JSON.parse(manifest) as SignedManifest,
  };
}

export function withdrawnChange(versionId: string): NewBody {
  return { type: 'dataset.withdrawn', namespace: PUBLIC_NAMESPACE, versionId };
}

async function* itemPages(read: Db, versionId: string): AsyncIterable<readonly ChangeBody[]> {
  for (let after = -1; ; ) {
    const parts = await partsAfter(read, versionId, 'items', after, PARTS_A_PAGE);
    const last = parts.at(-1);
    if (last === undefined) return;
    yield parts.map(({ data }) => {
      const {
        seq: _seq,
        at: _at,
        owner: _owner,
        cause: _cause,
        ...body
      } = itemsChange(emptyRow(versionId), versionId, data);
      return body;
    });
    after = last.part;
  }
}
