/** The secrets of a node on its disk, so that it starts when everything else is dead. */
import { readFileSync } from 'node:fs';
import { replaceFileSync } from '../../base/files/replace-file.ts';
import { aesGcmEncryption } from '../../base/secret-encryption.ts';
import type { NodeSecrets } from '../ports/node-keys.ts';
import { parseSecrets, printSecrets } from './secrets-message.ts';

export interface KeptSecrets {
  /** Of the delivery. */
  readonly at: number;
  readonly database: string;
  readonly secrets: NodeSecrets;
}

export interface SecretsCopy {
  /** Null: there is none. @throws SecretsCopyError for one that is torn, or another node's */
  read(): KeptSecrets | null;
  write(kept: KeptSecrets): void;
}

export class SecretsCopyError extends Error {
  override readonly name = 'SecretsCopyError';

  constructor(path: string) {
    super(
      `${path} is damaged, or was made with other credentials: it is not used. It is replaced by what control delivers.`,
    );
  }
}

export interface SecretsCopyOptions {
  readonly path: string;
  readonly node: string;
  /** 32 octets that are used for nothing else, derived from the credentials of the node. */
  readonly key: Uint8Array;
  readonly random: (octets: number) => Uint8Array;
}

const FILE_MODE = 0o600;

export function secretsCopy({ path, node, key, random }: SecretsCopyOptions): SecretsCopy {
  const encryption = aesGcmEncryption(key, random, 0);
  const name = `node-secrets ${node}`;
  return {
    read() {
      let text: string;
      try {
        text = readFileSync(path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
        throw error;
      }
      const kept = keptOf(() => encryption.decrypt(name, Buffer.from(text, 'base64')));
      if (kept === null) throw new SecretsCopyError(path);
      return kept;
    },
    write({ at, ...kept }) {
      const plain = JSON.stringify({ at, secrets: printSecrets(kept) });
      replaceFileSync(path, Buffer.from(encryption.encrypt(name, plain)).toString('base64'), FILE_MODE);
    },
  };
}

function keptOf(decrypt: () => string): KeptSecrets | null {
  try {
    const { at, secrets: text } = JSON.parse(decrypt()) as { at: unknown; secrets: unknown };
    const kept = typeof text === 'string' ? parseSecrets(text) : null;
    return kept === null || !Number.isSafeInteger(at) ? null : { at: at as number, ...kept };
  } catch {
    // The error may quote the text.
    return null;
  }
}
