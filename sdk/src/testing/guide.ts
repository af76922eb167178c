import { readFileSync } from 'node:fs';

/** docs/WEBHOOKS.md as it stands. */
export const GUIDE = readFileSync(new URL('../../../docs/WEBHOOKS.md', import.meta.url), 'utf8');

/** The fenced blocks of the guide whose fence says `info`, without the fences. @throws when there is none */
export function blocks(info: string): readonly string[] {
  const found = [...GUIDE.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)]
    .filter(([, said]) => said === info)
    .map(([, , text = '']) => text);
  if (found.length === 0) throw new Error(`The guide has no block ${info}`);
  return found;
}

/** @throws when there is not exactly one */
export function block(info: string): string {
  const [only, ...others] = blocks(info);
  if (only === undefined || others.length > 0) throw new Error(`The guide must have one block ${info}`);
  return only;
}
