/**
 * A name with a query token that the playground is to ask. It is handed over in the memory of the page: what is in an address stays in the history
 * of the browser.
 */
import { signal } from '@preact/signals';
import { navigate } from './router.ts';

/** Null: there is none, or the playground has taken it. */
export const handedName = signal<string | null>(null);

export function askInPlayground(name: string): void {
  handedName.value = name;
  navigate('/playground');
}
