/** Files that a command of the transparency log is given. */
import { readFileSync } from 'node:fs';
import { InputError } from '../base/errors.ts';
import type { TrustPolicy } from '../protocol/transparency/policy.ts';
import { readPolicy } from '../protocol/transparency/signatures.ts';
import { escapeControls } from './output.ts';

/** @throws InputError for a file that cannot be read */
export function octetsOfFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new InputError(`cannot read ${path}: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`);
  }
}

/** @throws InputError for a file that cannot be read, or is no policy: a line for each fault */
export function policyOf(path: string): TrustPolicy {
  const read = readPolicy(octetsOfFile(path));
  if (read.ok) return read.policy;
  throw new InputError(
    read.faults.map((fault) => `${path} is not a policy: ${escapeControls(fault)}`).join('\n'),
  );
}
