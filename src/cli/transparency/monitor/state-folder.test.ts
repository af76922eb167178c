import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hookedFiles } from '../../../../test/support/base/files/hooked-files.ts';
import { createSimulatedDisk } from '../../../../test/support/base/files/simulated-files.ts';
import { mulberry } from '../../../../test/support/feed/bus/feed-world.ts';
import { InputError } from '../../../base/errors.ts';
import { openStateFolder } from './state-folder.ts';

describe('evidence in the folder of a monitor', () => {
  const MAX = 2;
  const name = (n: number, code = 'stale'): string => `${code}-${n.toString(16).padStart(16, '0')}`;

  it('has its number of each alarm, of which a draft that a kill left takes none (drafts took all)', () => {
    const files = createSimulatedDisk({ random: mulberry(1), now: () => 0 }).files();
    const folder = openStateFolder('/state', MAX, files);
    files.makeFolder('/state/evidence', 0o755);
    for (let n = 0; n < MAX; n++) files.makeFolder(`/state/evidence/${name(n)}.0123456789ab`, 0o755);
    const keep = (n: number, code?: string) => folder.keepEvidence(name(n, code), { note: 'seen' });
    for (let n = 0; n < MAX; n++) assert.equal(keep(n), `/state/evidence/${name(n)}`);
    assert.equal(keep(MAX), null);
    assert.equal(keep(0), `/state/evidence/${name(0)}`, 'what is kept is there still');
    assert.equal(keep(0, 'shrunk'), `/state/evidence/${name(0, 'shrunk')}`);
  });

  it('leaves no draft on a full disk, and InputError says which folder is full', () => {
    const disk = createSimulatedDisk({ random: mulberry(1), now: () => 0 });
    for (const refused of ['makeFolder', 'write', 'rename']) {
      const files = hookedFiles(disk.files(), ({ call, paths }) => {
        if (call !== refused || !paths[0]!.includes('.draft-')) return undefined;
        throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
      });
      const folder = openStateFolder('/state', MAX, files);
      assert.throws(
        () => folder.keepEvidence(name(1), { note: 'seen' }),
        new InputError('the state folder /state: ENOSPC: no space left'),
      );
      assert.deepEqual(disk.files().list('/state/evidence'), [], refused);
    }
  });
});
