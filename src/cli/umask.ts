/** Starts a command of the operator with the umask of the shell: files that it makes may be for others, ours are not. */
export function withUmask<T>(umask: number | undefined, start: () => T): T {
  if (umask === undefined) return start();
  const own = process.umask(umask);
  try {
    return start();
  } finally {
    process.umask(own);
  }
}
