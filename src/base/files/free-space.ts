import { statfsSync } from 'node:fs';

/** What this process may still write to the disk of a path, octets: root may use what is kept back for root. NaN where the path is gone. */
export function freeOctets(path: string): number {
  try {
    const { bavail, bfree, bsize } = statfsSync(path);
    return (process.geteuid?.() === 0 ? bfree : bavail) * bsize;
  } catch {
    return Number.NaN;
  }
}

/** A full disk, as the system reports it, with the path. */
export class DiskFullError extends Error {
  readonly code = 'ENOSPC';
  readonly path: string;
  constructor(path: string, options: { readonly cause?: unknown } = {}) {
    super(`ENOSPC: the disk of ${path} is full`, options);
    this.name = 'DiskFullError';
    this.path = path;
  }
}

/** Whether the system refused to write because of a full disk or a quota. */
export function isOutOfSpace(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}
