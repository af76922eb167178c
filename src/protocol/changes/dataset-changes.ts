/**
 * Dataset changes as JSON. Items travel as lists, `[item, [from, to, issuer, brand, cc, type], …]`: named members would double the log.
 */

import { LIMITS } from '../../base/limits.ts';
import type { ChangeBody, DatasetChange } from '../change.ts';
import { attestationKeyId } from '../datasets/attestation.ts';
import type { DatasetItem, ItemFacts } from '../datasets/item.ts';
import { readSignedManifest, textFault } from '../datasets/manifest.ts';
import { EARLIEST, isItemKey, LATEST } from '../datasets/query.ts';
import { PUBLIC_KEY_OCTETS } from '../datasets/signed-text.ts';
import { decodeBase64 } from '../encodings.ts';
import { PUBLIC_NAMESPACE } from '../names/labels.ts';
import { FieldFault, integer, text } from './change-fields.ts';

type Body = Readonly<Record<string, unknown>>;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const COUNTRY = /^[A-Za-z]{2}$/;
const WINDOW_FIELDS = 6;
const TYPES: ReadonlySet<string> = new Set<DatasetChange['type']>([
  'dataset.items',
  'dataset.published',
  'dataset.withdrawn',
  'dataset.key',
  'log.proof',
  'log.checkpoint',
]);

export function isDatasetType(type: string): type is DatasetChange['type'] {
  return TYPES.has(type);
}

export function isDatasetChange<C extends ChangeBody>(change: C): change is C & DatasetChange {
  return isDatasetType(change.type);
}

/** Members of a change's JSON. */
export function datasetBody(change: DatasetChange): Body {
  switch (change.type) {
    case 'dataset.items':
      return { versionId: change.versionId, items: change.items.map(itemList) };
    case 'dataset.published':
      return { versionId: change.versionId, manifest: change.manifest };
    case 'dataset.withdrawn':
      return { versionId: change.versionId };
    case 'dataset.key': {
      const { kid, publicKey, since, end } = change;
      return { kid, publicKey, since, end };
    }
    case 'log.proof':
      return { versionId: change.versionId, proof: change.proof };
    case 'log.checkpoint':
      return { checkpoint: change.checkpoint };
  }
}

/** @throws FieldFault for a field of the wrong type or form, or out of bounds */
export function readDatasetChange(type: DatasetChange['type'], body: Body): DatasetChange {
  const namespace = PUBLIC_NAMESPACE;
  switch (type) {
    case 'dataset.items':
      return { type, namespace, versionId: versionId(body), items: items(body.items) };
    case 'dataset.published': {
      const manifest = readSignedManifest(body.manifest);
      if (!manifest.ok) throw new FieldFault('manifest');
      return { type, namespace, versionId: versionId(body), manifest: manifest.value };
    }
    case 'dataset.withdrawn':
      return { type, namespace, versionId: versionId(body) };
    case 'dataset.key':
      return { type, namespace, ...publishedKey(body) };
    case 'log.proof':
      return { type, namespace, versionId: versionId(body), proof: noteText('proof', body.proof) };
    case 'log.checkpoint':
      return { type, namespace, checkpoint: noteText('checkpoint', body.checkpoint) };
  }
}

function versionId({ versionId: id }: Body): string {
  if (typeof id !== 'string' || !UUID.test(id)) throw new FieldFault('versionId');
  return id;
}

/** Lines as a DNS answer carries them. Whoever verifies reads them; a view only hands them on. */
function noteText(field: 'proof' | 'checkpoint', value: unknown): string {
  const found = text(field, value, LIMITS.logText);
  if (!found.isWellFormed() || Buffer.byteLength(found) > LIMITS.logText) throw new FieldFault(field);
  return found;
}

function publishedKey({ kid, publicKey, since, end }: Body) {
  const octets = typeof publicKey === 'string' ? decodeBase64(publicKey) : null;
  if (octets?.length !== PUBLIC_KEY_OCTETS) throw new FieldFault('publicKey');
  if (kid !== attestationKeyId(octets)) throw new FieldFault('kid');
  return {
    kid: kid as string,
    publicKey: publicKey as string,
    since: integer('since', since, LATEST),
    end: end === null ? null : integer('end', end, LATEST),
  };
}

/** One item of a change as JSON. */
export function itemList({ item, windows }: DatasetItem): unknown[] {
  return [
    item,
    ...windows.map(({ from, to, issuer, brand, cc, type }) => [from, to, issuer, brand, cc, type]),
  ];
}

function items(value: unknown): readonly DatasetItem[] {
  return listOf(value, 1, LIMITS.datasetChangeItems).map((entry) => {
    const [item, ...windows] = listOf(entry, 2, 1 + LIMITS.datasetWindows);
    // The slug is not known here. Keys of `bin` and `gtin` slugs are digits, which this form has too.
    if (typeof item !== 'string' || !isItemKey('', item)) throw new FieldFault('items');
    return { item, windows: windows.map(factsOf) };
  });
}

function factsOf(value: unknown): ItemFacts {
  const [from, to, issuer, brand, cc, type] = listOf(value, WINDOW_FIELDS, WINDOW_FIELDS);
  const facts = {
    from: instant(from),
    to: instant(to),
    issuer: plainText(issuer),
    brand: plainText(brand),
    cc: plainText(cc),
    type: plainText(type),
  };
  if (!COUNTRY.test(facts.cc)) throw new FieldFault('items');
  if (facts.from !== null && facts.to !== null && facts.to <= facts.from) throw new FieldFault('items');
  return facts;
}

function listOf(value: unknown, min: number, max: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length < min || value.length > max) throw new FieldFault('items');
  return value;
}

function instant(value: unknown): number | null {
  return value === null ? null : integer('items', value, LATEST, EARLIEST);
}

function plainText(value: unknown): string {
  if (typeof value !== 'string' || textFault(value, LIMITS.datasetText) !== null)
    throw new FieldFault('items');
  return value;
}
