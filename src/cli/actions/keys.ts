/** `uqrp key`: key files for encrypted values, and keys that sign values. */
import { fchmodSync, fstatSync, realpathSync, writeFileSync } from 'node:fs';
import {
  newKeyLine,
  newSigningKey,
  publicKeyBase64,
  publicKeyPem,
  readKeyFile,
  readSigningKey,
} from '../../../sdk/src/encryption.ts';
import { InputError, UsageError } from '../../base/errors.ts';
import { replaceFileSync } from '../../base/files.ts';
import { type Clock, formatTime } from '../../base/time.ts';
import { decodeBase64 } from '../../protocol/encodings.ts';
import { ofFile, readSecretFile } from '../key-files.ts';
import { print } from '../output.ts';

/** Of the owner alone. */
const MODE = 0o600;

/** Makes a key file, or with --sign a signing key: in a new file, else on standard output. @throws InputError when the file exists */
export async function keyNew(
  clock: Clock,
  path: string | undefined,
  { sign }: { readonly sign?: boolean },
  json: boolean,
): Promise<void> {
  if (sign === true) return await newSigning(path, json);
  if (path === undefined) throw new UsageError('give the new file: uqrp key new FILE');
  const line = await newKeyLine(dateOf(clock));
  writeNew(path, `${line}\n`);
  const id = line.split(' ')[1]!;
  print(
    json ? JSON.stringify({ id, file: path }) : `${path}: key ${id}\nKeep a copy: a lost key loses the data.`,
  );
}

async function newSigning(path: string | undefined, json: boolean): Promise<void> {
  const pem = await newSigningKey();
  if (path === undefined) {
    // As for a new file. A shell makes the file of `>` readable for everybody.
    if (fstatSync(process.stdout.fd).isFile()) fchmodSync(process.stdout.fd, MODE);
    process.stdout.write(pem);
    return;
  }
  writeNew(path, pem);
  const key = (await readSigningKey(pem)).public;
  const shown = { id: key.id, public_key: publicKeyBase64(key), file: path };
  print(json ? JSON.stringify(shown) : `${path}: signing key ${key.id}\n${shown.public_key}`);
}

function writeNew(path: string, content: string): void {
  try {
    writeFileSync(path, content, { flag: 'wx', mode: MODE, flush: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new InputError(
      code === 'EEXIST'
        ? `${path} exists: nothing was written`
        : `${path} cannot be written: ${code ?? 'unknown'}`,
    );
  }
}

/**
 * Puts a new key before the others of a key file: it encrypts from now on.
 * @param from file with an existing key, 32 octets in Base64; undefined: a random key
 */
export async function keyAdd(
  clock: Clock,
  path: string,
  { from }: { readonly from?: string },
  json: boolean,
): Promise<void> {
  const text = readSecretFile(path);
  const keys = await ofFile(path, () => readKeyFile(text));
  const secret = from === undefined ? undefined : decodeBase64(readSecretFile(from).trim());
  if (secret === null) throw new InputError(`${from}: not strict Base64`);
  const line = await ofFile(from ?? path, () => newKeyLine(dateOf(clock), secret));
  const id = line.split(' ')[1]!;
  if (keys.some((key) => key.id === id)) throw new InputError(`${path} has this key already`);
  // The file itself, where the path is a link.
  replaceFileSync(realpathSync(path), `${line}\n${text}`, MODE);
  const others = keys.map((key) => key.id);
  print(
    json
      ? JSON.stringify({ id, others, file: path })
      : `${path}: key ${id} encrypts, ${others.join(', ')} still decrypt${others.length === 1 ? 's' : ''}`,
  );
}

function dateOf(clock: Clock): string {
  return formatTime(clock()).slice(0, 10);
}

/** Prints the public key of a signing key. */
export async function keyPublic(path: string, json: boolean): Promise<void> {
  const pem = readSecretFile(path);
  const key = (await ofFile(path, () => readSigningKey(pem))).public;
  const [text, base64] = [publicKeyPem(key), publicKeyBase64(key)];
  print(json ? JSON.stringify({ id: key.id, pem: text, base64 }) : `${text}${base64}`);
}
