/** Key files and public keys that options name. No message quotes what is in them. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { KEY_FILE_MAX, type OpenOptions, PayloadOpener, readPublicKey } from '../../sdk/src/encryption.ts';
import { InputError, UsageError } from '../base/errors.ts';
import { durationSeconds } from './actions/put-input.ts';

/** Permissions of others than the owner. */
const OTHERS = 0o077;

/** The text of a file with a secret. @throws InputError for a file that others may open, or that cannot be read */
export function readSecretFile(path: string): string {
  const file = opened(path);
  try {
    const { mode, size } = fstatSync(file);
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw new InputError(`${path} is open to other users: chmod 600 ${path}`);
    if (size > KEY_FILE_MAX) throw new InputError(`${path} has more than ${KEY_FILE_MAX} octets`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw error instanceof InputError ? error : unreadable(path, error);
  } finally {
    closeSync(file);
  }
}

/** A pipe must not hold us up. */
function opened(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): InputError {
  return new InputError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`);
}

/** Runs what reads keys from a file. @throws InputError with the path for what is wrong with them */
export async function ofFile<T>(path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof TypeError) throw new InputError(`${path}: ${error.message}`);
    throw error;
  }
}

/** Options of commands that read values. */
export interface OpenerOptions {
  /** Path of a key file. */
  readonly key?: string;
  /** Each a public key, or the path of a file with one. */
  readonly signedBy?: readonly string[];
  readonly allowPlain?: boolean;
  /** `24h`. */
  readonly maxAge?: string;
}

/** What opens values as the options demand; null: they are taken as they are. @throws UsageError, InputError */
export async function openerOf({
  key,
  signedBy,
  allowPlain,
  maxAge,
}: OpenerOptions): Promise<PayloadOpener | null> {
  if (key === undefined && allowPlain === true) throw new UsageError('--allow-plain needs --key');
  if (key === undefined && signedBy === undefined) {
    if (maxAge !== undefined) throw new UsageError('--max-age needs --key or --signed-by');
    return null;
  }
  const options: OpenOptions = {
    keys: key === undefined ? undefined : readSecretFile(key),
    keyFile: key,
    signedBy: signedBy === undefined ? undefined : await Promise.all(signedBy.map(publicKeyText)),
    allowPlain,
    maxAge: maxAge === undefined ? undefined : durationSeconds(maxAge, '--max-age', '90s, 5m, 24h or 7d'),
  };
  const opener = new PayloadOpener(options);
  await ofFile(key ?? '--signed-by', () => opener.ready());
  return opener;
}

/** Text of a public key: that of the option, or of the file that it names. */
async function publicKeyText(text: string): Promise<string> {
  const isKey = await readPublicKey(text).then(
    () => true,
    () => false,
  );
  if (isKey) return text;
  let content: string;
  try {
    content = readFileSync(text, 'utf8');
  } catch {
    throw new InputError(
      '--signed-by takes a public key, as "uqrp key public" prints it, or a file with one',
    );
  }
  await ofFile(text, () => readPublicKey(content));
  return content;
}
