import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Path of a file of deploy/. */
export function deployPath(name: string): string {
  return fileURLToPath(new URL(`../../../deploy/${name}`, import.meta.url));
}

export function deployText(name: string): string {
  return readFileSync(deployPath(name), 'utf8');
}

/** @throws AssertionError when an example lacks a text that is replaced: it would then be tried with settings of its own */
export function replaced(text: string, ...changes: ReadonlyArray<readonly [string, string]>): string {
  return changes.reduce((result, [from, to]) => {
    assert.ok(result.includes(from), `the example lacks ${from}`);
    return result.replaceAll(from, to);
  }, text);
}

/** The values of a setting in a unit, in their order. */
export function unitValues(unit: string, setting: string): readonly string[] {
  return [...unit.matchAll(new RegExp(`^${setting}=(.*)$`, 'gm'))].map(([, value]) => value!);
}

/** The shell line of `sh -c '...'` in an ExecStart, with the escapes of systemd undone: `$$` and `%%`. */
export function shellLine(exec: string): string {
  const [, line] = /^sh -c '(.*)'$/.exec(exec) ?? [];
  if (line === undefined) throw new Error(`no sh -c '...': ${exec}`);
  return line.replaceAll('$$', '$').replaceAll('%%', '%');
}
