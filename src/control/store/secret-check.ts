import { readFact, writeFactOnce } from './service-facts.ts';
import type { Store } from './store.ts';

/**
 * Compares the secret's fingerprint with the one that the database was made with, and writes it where there is none yet.
 *
 * @returns whether it is the same secret
 */
export async function isSecretOfStore(store: Store, fingerprint: string): Promise<boolean> {
  const held = await readFact(store.read, 'secret_fingerprint');
  if (held !== null) return held === fingerprint;
  return (await store.write((tx) => writeFactOnce(tx, 'secret_fingerprint', fingerprint))) === fingerprint;
}
