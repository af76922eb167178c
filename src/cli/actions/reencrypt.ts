/** Encrypts the values of a namespace with the first key of a key file, over REST with UQRP_TOKEN. */
import {
  decryptPayload,
  type EncryptionKey,
  encryptPayload,
  type OpenedPayload,
  PayloadError,
  readKeyFile,
  unverifiedPayload,
} from '../../../sdk/src/encryption.ts';
import { bytesOf } from '../../../sdk/src/uqrp-sdk.ts';
import { InputError } from '../../base/errors.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import { commandConfig } from '../context.ts';
import { ofFile, readSecretFile } from '../key-files.ts';
import { escapeControls, print } from '../output.ts';
import { openRest, payloadOfRow, recordsOfNamespace } from '../rest.ts';

export interface ReencryptOptions {
  /** Path of the key file. */
  readonly key: string;
  readonly dryRun?: boolean;
  readonly api?: string;
}

/** What is to be done with a value. */
type Finding =
  | { readonly kind: 'due'; readonly opened: OpenedPayload }
  | { readonly kind: 'done' | 'plain' }
  | { readonly kind: 'fault'; readonly message: string };

/**
 * Each write has the condition that the record has not changed; a changed one is read again. What was written stays written when a later one
 * fails: the same command goes on from there.
 * @throws InputError when a value cannot be decrypted, after all others are done
 */
export async function reencryptNamespace(
  name: string,
  options: ReencryptOptions,
  json: boolean,
): Promise<void> {
  const text = readSecretFile(options.key);
  const keys = await ofFile(options.key, () => readKeyFile(text));
  const rest = openRest(options.api, commandConfig());
  const namespace = foldCase(name);
  const find = (key: string, octets: Uint8Array): Promise<Finding> =>
    findingOf(keys, options.key, key, octets);
  const rows = await recordsOfNamespace(rest, namespace);
  const counts = { done: 0, plain: 0 };
  const moved: { readonly key: string; readonly from: string; readonly to: string }[] = [];
  const faults: string[] = [];
  for (const row of rows) {
    const { id, key } = row;
    const finding = await find(key, payloadOfRow(row, rest));
    if (finding.kind === 'fault') faults.push(`${key}: ${finding.message}`);
    else if (finding.kind !== 'due') counts[finding.kind]++;
    else {
      const from = finding.opened.keyId!;
      if (options.dryRun !== true) {
        await rest.write((api) =>
          api.records.modify(id, async (record) => {
            const now = await find(key, bytesOf(record));
            return now.kind === 'due' ? { bytes: await again(keys[0], key, now.opened) } : null;
          }),
        );
      }
      moved.push({ key, from, to: keys[0].id });
      if (!json) print(escapeControls(`${key}   ${from} -> ${keys[0].id}`));
    }
  }
  const { done, plain } = counts;
  if (json) print(JSON.stringify({ records: moved, unchanged: done, not_encrypted: plain, faults }));
  else {
    const verb = options.dryRun === true ? 'to encrypt anew' : 'encrypted anew';
    print(
      `${moved.length} ${verb}, ${done} unchanged, ${plain} not encrypted, ${faults.length} not readable`,
    );
  }
  if (faults.length > 0) throw new InputError(faults.map(escapeControls).join('\n'));
}

async function findingOf(
  keys: readonly [EncryptionKey, ...EncryptionKey[]],
  keyFile: string,
  key: string,
  octets: Uint8Array,
): Promise<Finding> {
  const signed = unverifiedPayload(octets);
  try {
    const opened = await decryptPayload(keys, key, signed ?? octets, keyFile);
    if (opened.time !== null && opened.keyId === keys[0].id) return { kind: 'done' };
    return signed === null
      ? { kind: 'due', opened }
      : { kind: 'fault', message: 'signed: write it anew with --encrypt and --sign' };
  } catch (error) {
    if (!(error instanceof PayloadError)) throw error;
    const isForeign = error.fault === 'plain' || error.fault === 'unknown_form';
    return isForeign ? { kind: 'plain' } : { kind: 'fault', message: error.message };
  }
}

/** Its time is later than that of the value before, so that readers accept it. */
function again(key: EncryptionKey, recordKey: string, { data, time }: OpenedPayload): Promise<Uint8Array> {
  return encryptPayload(key, recordKey, data, { after: time });
}
