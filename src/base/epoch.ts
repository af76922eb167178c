/**
 * The epoch of a log: the id of its database. After a restored backup the same database gets a successor, the id with a time behind it: its
 * log goes on from an earlier state, and every view is built again from it.
 */

const EPOCH = /^(?<id>[^.]+)(?:\.(?<at>\d{1,15}))?$/;

/** @param now milliseconds since the epoch. @returns a successor, also of one that a fast clock made */
export function nextEpoch(epoch: string, now: number): string {
  const { id, at } = parts(epoch);
  return `${id}.${Math.max(now, at + 1)}`;
}

/** Whether `epoch` is a successor of `earlier`. Never true for another database. */
export function isSuccessor(epoch: string, earlier: string): boolean {
  const [next, last] = [parts(epoch), parts(earlier)];
  return next.id === last.id && next.at > last.at;
}

/** The id of the database, which its successors share. */
export function databaseOf(epoch: string): string {
  return parts(epoch).id;
}

function parts(epoch: string): { readonly id: string; readonly at: number } {
  const { id = epoch, at = '0' } = EPOCH.exec(epoch)?.groups ?? {};
  return { id, at: Number(at) };
}
