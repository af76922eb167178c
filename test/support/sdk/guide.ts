import { readFileSync } from 'node:fs';

/** The text of docs/WEBHOOKS.md and its pages of receivers. */
export const GUIDE = ['WEBHOOKS.md', 'webhooks/node.md', 'webhooks/python-and-go.md']
  .map((page) => readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8'))
  .join('\n');

/** The guide's fenced blocks with the info string `info`, without fences. @throws when there is none */
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
