import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { binLines } from './bin.ts';
import { currencyLines } from './currency.ts';
import { gtinLines } from './gtin.ts';
import type { Line } from './items.ts';

export interface RegistryOptions {
  readonly seed: number;
  /** Trade items. */
  readonly gtins: number;
  /** Issuer prefixes; ranges of a few numbers give fewer. */
  readonly bins: number;
  readonly version: string;
  /** Where the publisher puts the items files. */
  readonly url: string;
}

export interface DatasetFolder {
  readonly slug: string;
  readonly manifest: string;
  readonly items: string;
  readonly lines: number;
}

interface Dataset {
  readonly slug: string;
  readonly provenance: string;
  readonly lines: (options: RegistryOptions) => Iterable<Line>;
}

const CHUNK_LETTERS = 262_144;

/** What is true in them and what is made up stands in the manifest that they sign. */
const DATASETS: readonly Dataset[] = [
  {
    slug: 'bin-sample',
    provenance:
      'Prefix ranges as published by the card networks, but prefixes, banks, countries and dates are made up',
    lines: ({ bins, seed }) => binLines(bins, seed),
  },
  {
    slug: 'currency',
    provenance: 'ISO 4217 and publications of central banks, currencies of 54 countries since 1995-01-01',
    lines: () => currencyLines(),
  },
  {
    slug: 'gtin-sample',
    provenance:
      'GS1 prefixes and check digits as published by GS1, but item numbers, companies, brands and dates are made up',
    lines: ({ gtins, seed }) => gtinLines(gtins, seed),
  },
];

/** Writes `<slug>/manifest.json` and `<slug>/items.jsonl` of every dataset. The octets follow from the options alone. */
export function writeRegistry(folder: string, options: RegistryOptions): DatasetFolder[] {
  return DATASETS.map(({ slug, provenance, lines }) => {
    const path = join(folder, slug);
    mkdirSync(path, { recursive: true });
    const manifest = join(path, 'manifest.json');
    const items = join(path, 'items.jsonl');
    const { version, url } = options;
    const stated = { slug, version, license: 'CC0-1.0', provenance, url: `${url}/${slug}-${version}.jsonl` };
    writeFileSync(manifest, `${JSON.stringify(stated, null, 2)}\n`);
    return { slug, manifest, items, lines: writeItems(items, lines(options)) };
  });
}

/** Holds one chunk. @returns the number of lines */
function writeItems(path: string, lines: Iterable<Line>): number {
  const handle = openSync(path, 'w');
  let chunk = '';
  let count = 0;
  try {
    for (const line of lines) {
      chunk += `${JSON.stringify(line)}\n`;
      count++;
      if (chunk.length < CHUNK_LETTERS) continue;
      writeSync(handle, chunk);
      chunk = '';
    }
    writeSync(handle, chunk);
  } finally {
    closeSync(handle);
  }
  return count;
}
