import { readFileSync } from 'node:fs';

export function programVersion(): string {
  return manifest().version;
}

/** Such as `^22.20.0 || >=24.11.0`. `engines` of a checkout is wider, because `npm ci` runs on more versions. */
export function neededNode(): string {
  return manifest().config.node;
}

function manifest(): { readonly version: string; readonly config: { readonly node: string } } {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
}
