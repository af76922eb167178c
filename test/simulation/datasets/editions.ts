/** What the operator publishes: small files of one dataset, made once in this process of the system, and what answers say of them. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attestFiles } from '../../../src/control/datasets/attest.ts';
import type { AttestationKey } from '../../../src/control/datasets/keys.ts';
import type { ItemFacts } from '../../../src/protocol/datasets/item.ts';
import type { SignedManifest } from '../../../src/protocol/datasets/manifest.ts';
import { attestationKey } from '../../support/view/datasets/dataset-changes.ts';

/** Files of one version. Under one number there are two with other items: at most one of them may be published. */
export interface Edition {
  readonly version: string;
  readonly content: Content;
  /** Paths. */
  readonly manifest: string;
  readonly items: string;
  readonly signed: SignedManifest;
  /** Windows by item. */
  readonly windows: ReadonlyMap<string, readonly ItemFacts[]>;
}

type Content = 'a' | 'b';

export const SLUG = 'demo';
/** Of every version, besides one that only this version has. In the order of their octets. */
const ITEMS = ['both', 'i1', 'i2'];
/** 2020-02-29, before all that the simulation does. */
const DAY = 1_582_934_400;
const ATTESTED_MS = 1_800_000_000_000;
const KEY_MADE_MS = 1_700_000_000_000;

const { key: privateKey, publicKey, kid } = attestationKey(1);
export const OWN_KEY: AttestationKey = { kid, publicKey, privateKey, createdAt: KEY_MADE_MS };

const editions = new Map<string, Edition>();
const bySha256 = new Map<string, Edition>();
let made: string | null = null;

/** Where files go, in memory wherever Linux is. */
export function folder(): string {
  if (made !== null) return made;
  const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'uqrp-editions-'));
  process.once('exit', () => rmSync(path, { recursive: true, force: true }));
  made = path;
  return path;
}

/** @param number from 1; versions ascend with it, and their texts do not */
export function editionOf(number: number, content: Content): Edition {
  const name = `${number}${content}`;
  const known = editions.get(name) ?? makeEdition(number, content);
  editions.set(name, known);
  bySha256.set(known.signed.sha256, known);
  return known;
}

/** The edition with this items file; null: the operator never had it. */
export function editionWith(sha256: string): Edition | null {
  return bySha256.get(sha256) ?? null;
}

export function versionOf(number: number): string {
  return `1.${number + 7}.0`;
}

export function numberOf(version: string): number {
  return Number(version.split('.')[1]) - 7;
}

/** An item that only this version has. */
export function ownItem(version: string): string {
  return `only-${numberOf(version)}`;
}

function makeEdition(number: number, content: Content): Edition {
  const version = versionOf(number);
  const facts = (from: number | null, to: number | null): ItemFacts => {
    const text = `${version} ${content}`;
    return { from, to, issuer: text, brand: text, cc: 'ZZ', type: to === null ? text : 'before' };
  };
  const windows = new Map(
    [...ITEMS, ownItem(version)].map((item): [string, readonly ItemFacts[]] => [
      item,
      item === 'i1' ? [facts(null, DAY), facts(DAY, null)] : [facts(null, null)],
    ]),
  );
  const [manifest, items] = ['json', 'jsonl'].map((end) => join(folder(), `${number}${content}.${end}`)) as [
    string,
    string,
  ];
  const lines = [...windows].flatMap(([k, all]) => all.map((window) => JSON.stringify({ k, ...window })));
  writeFileSync(items, `${lines.join('\n')}\n`);
  const url = 'https://example.net/items.jsonl';
  writeFileSync(
    manifest,
    JSON.stringify({ slug: SLUG, version, license: 'CC0-1.0', provenance: 'made up', url }),
  );
  const signed = attestFiles({ manifest, items }, OWN_KEY, ATTESTED_MS, { sortFolder: folder() });
  writeFileSync(manifest, JSON.stringify(signed));
  return { version, content, manifest, items, signed, windows };
}

type Windows = ReadonlyMap<string, readonly ItemFacts[]>;

/** No view has items of a version that come after its publication, so each text is made once. */
const texts = new WeakMap<Windows, string>();

/** All that a view has of a version, as one text. */
export function versionText(
  { sha256 }: Pick<SignedManifest, 'sha256'>,
  windows: Windows = new Map(),
): string {
  const known = texts.get(windows);
  const items =
    known ??
    [...windows]
      .map(([item, all]) => JSON.stringify([item, ...all.map(windowFields)]))
      .toSorted()
      .join(' ');
  texts.set(windows, items);
  return `${sha256} ${items}`;
}

const windowFields = ({ from, to, issuer, brand, cc, type }: ItemFacts): unknown[] => [
  from,
  to,
  issuer,
  brand,
  cc,
  type,
];
