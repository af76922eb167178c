import { closeSync, openSync, readSync } from 'node:fs';
import { LIMITS } from '../../base/limits.ts';
import type { Read } from '../../protocol/datasets/manifest.ts';
import { DatasetFault } from './fault.ts';

/** @param read for a file before, or after the attestation. @throws DatasetFault with every fault */
export function readManifestFile<T>(path: string, read: (value: unknown) => Read<T>): T {
  const result = read(parse(path, readBounded(path)));
  if (result.ok) return result.value;
  throw new DatasetFault(result.faults.map((fault) => `${path}: ${fault}`));
}

function parse(path: string, octets: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(octets));
  } catch {
    throw new DatasetFault([`${path}: the manifest is not JSON in UTF-8`]);
  }
}

function readBounded(path: string): Buffer {
  const handle = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(LIMITS.datasetManifestFile + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(handle, buffer, length, buffer.length - length, null);
    }
    if (length < buffer.length) return buffer.subarray(0, length);
    throw new DatasetFault([`${path} is longer than ${LIMITS.datasetManifestFile} octets`]);
  } finally {
    closeSync(handle);
  }
}
