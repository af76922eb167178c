import { IDENTITY_VERSION } from '../../base/brand.ts';
import { LIMITS } from '../../base/limits.ts';
import { Faults, Fields, isJsonObject } from '../input/fields.ts';
import { foldCase } from '../names/labels.ts';
import { EARLIEST, LATEST, parseDay } from './as-of.ts';
import { identityLabel } from './query.ts';
import { isItemKey, itemKeyRule } from './slug.ts';
import { textFault } from './text.ts';
import type { Window } from './window.ts';

/** What holds of an item in one window. Texts are in normal form C. */
export interface ItemFacts extends Window {
  readonly issuer: string;
  readonly brand: string;
  readonly cc: string;
  readonly type: string;
}

export interface ItemWindow extends ItemFacts {
  readonly item: string;
}

/** An item with its windows in the order of their starts, at most 64. */
export interface DatasetItem {
  readonly item: string;
  readonly windows: readonly ItemFacts[];
}

const KNOWN = ['k', 'from', 'to', 'issuer', 'brand', 'cc', 'type'];
const COUNTRY = /^[A-Za-z]{2}$/;

/**
 * Reads the JSON value of one line of an items file: `{"k", "from", "to", "issuer", "brand", "cc", "type"}`. Only `k`,
 * `from` and `cc` are required. Returns a text when something is wrong.
 */
export function readItem(value: unknown, slug: string): ItemWindow | string {
  if (!isJsonObject(value)) return 'is not a JSON object';
  const faults = new Faults();
  const fields = new Fields(value, KNOWN, faults);
  const item = readKey(fields, slug);
  if (!fields.has('from')) fields.fault('from', 'is required');
  const from = readInstant(fields, value, 'from');
  const to = readInstant(fields, value, 'to');
  if (from !== null && to !== null && to <= from) fields.fault('to', 'must be after from');
  const issuer = readText(fields, 'issuer');
  const brand = readText(fields, 'brand');
  const cc = fields.requiredText('cc') ?? '';
  if (!COUNTRY.test(cc) && typeof value.cc === 'string') fields.fault('cc', 'must be two letters');
  const type = readText(fields, 'type');
  return faults.any ? faults.messages.join('; ') : { item, from, to, issuer, brand, cc, type };
}

export function identityTxt(slug: string, window: ItemWindow): string {
  const { item, issuer, brand, cc, type } = window;
  return `v=${IDENTITY_VERSION};ds=${slug};k=${item};issuer=${issuer};brand=${brand};cc=${cc};type=${type}`;
}

function readKey(fields: Fields, slug: string): string {
  const text = fields.requiredText('k');
  if (text === undefined) return '';
  const item = foldCase(text);
  if (!isItemKey(slug, item)) fields.fault('k', itemKeyRule(slug));
  else if (identityLabel(slug, item, null).length > LIMITS.label) {
    fields.fault('k', `is too long: with the slug it makes a label of more than ${LIMITS.label} octets`);
  }
  return item;
}

/** Unix seconds; null when it is open, absent or faulty. */
function readInstant(
  fields: Fields,
  line: Readonly<Record<string, unknown>>,
  name: 'from' | 'to',
): number | null {
  if (!fields.has(name) || fields.isNull(name)) return null;
  const value = line[name];
  const instant = typeof value === 'string' ? parseDay(value) : value;
  if (typeof instant !== 'number' || !Number.isInteger(instant)) {
    fields.fault(name, 'must be a date YYYY-MM-DD, unix seconds or null');
    return null;
  }
  if (instant >= EARLIEST && instant <= LATEST) return instant;
  fields.fault(name, 'must be in the years 1 to 9999');
  return null;
}

function readText(fields: Fields, name: 'issuer' | 'brand' | 'type'): string {
  const text = (fields.text(name) ?? '').normalize('NFC');
  const fault = textFault(text, LIMITS.datasetText);
  if (fault !== null) fields.fault(name, fault);
  return text;
}
