import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects the garbage of this thread: its start leaves young objects and buffers, and V8 would keep them until the thread has made as many again. It takes 20 to
 * 100 ms, so it is called before the thread serves.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  try {
    // Contexts that are made while the flag is set have `gc`.
    const collect = runInNewContext('gc') as () => void;
    collect();
  } finally {
    // Compiled code is kept for a set of flags: modules that load later would not find theirs.
    setFlagsFromString('--no-expose-gc');
  }
}
