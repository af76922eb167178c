import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects the garbage of this thread: its start leaves young objects and buffers, and V8 would keep them until the thread has made as many again. It takes 20 to
 * 100 ms, so a worker calls it before it serves, and the main thread when its start is over.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  try {
    // Contexts that are made while the flag is set have `gc`. The flag is the process's: another thread may have reset it just now.
    runInNewContext("if (typeof gc === 'function') gc()");
  } finally {
    // Compiled code is kept for a set of flags: modules that load later would not find theirs.
    setFlagsFromString('--no-expose-gc');
  }
}
