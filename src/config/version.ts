import { readFileSync } from 'node:fs';

/** Version of this program, as package.json has it. */
export function programVersion(): string {
  return manifest().version;
}

/** Versions of Node that this program runs on: `>=24.15.0`. `engines` in package.json is wider: what `npm ci` needs. */
export function neededNode(): string {
  return manifest().config.node;
}

function manifest(): { readonly version: string; readonly config: { readonly node: string } } {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
}
