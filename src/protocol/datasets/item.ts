import { IDENTITY_VERSION } from '../../base/brand.ts';
import { LIMITS } from '../../base/limits.ts';
import { Faults, Fields, isJsonObject } from '../input/fields.ts';
import { foldCase } from '../names/labels.ts';
import { textFault } from './manifest.ts';
import { EARLIEST, identityLabel, isItemKey, itemKeyRule, LATEST, parseDay } from './query.ts';

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

/** Unix seconds. Null: open at this side. */
export interface Window {
  readonly from: number | null;
  readonly to: number | null;
}

/** `until`: the second at which time alone may change the selection; null: only another version changes it. */
export type Selection<W extends Window> =
  | { readonly kind: 'window'; readonly window: W; readonly ttl: number; readonly until: number | null }
  | { readonly kind: 'none'; readonly until: number | null };

const TTL = 3600;
/** Of a window that ended more than `SETTLED_MS` ago. */
const SETTLED_TTL = 604_800;
export const SETTLED_MS = 3_600_000;

/**
 * Selects the one window that contains the instant and has begun. More than one gives none: an ambiguous fact is not served.
 * @param asOf unix seconds; null is now. @param nowMs milliseconds since the epoch
 */
export function selectWindow<W extends Window>(
  windows: readonly W[],
  asOf: number | null,
  nowMs: number,
): Selection<W> {
  const now = Math.floor(nowMs / 1000);
  const at = asOf ?? now;
  const until = nextBoundary(windows, now);
  const found = windows.filter((window) => hasBegun(window, now) && contains(window, at));
  const [window] = found;
  if (window === undefined || found.length > 1) return { kind: 'none', until };
  return { kind: 'window', window, ttl: ttlOf(window, nowMs), until };
}

/** Of two windows in the order of their starts: whether they share an instant. */
export function overlap(earlier: Window, later: Window): boolean {
  return earlier.to === null || later.from === null || later.from < earlier.to;
}

/** Orders windows by their starts; one that is open at its start is first. */
export function compareStarts(a: Window, b: Window): number {
  if (a.from === null || b.from === null) return Number(b.from === null) - Number(a.from === null);
  return a.from - b.from;
}

function hasBegun({ from }: Window, now: number): boolean {
  return from === null || from <= now;
}

function contains({ from, to }: Window, at: number): boolean {
  return (from === null || from <= at) && (to === null || at < to);
}

/** The answer must leave caches when the window ends. */
function ttlOf({ to }: Window, nowMs: number): number {
  if (to === null) return TTL;
  const leftMs = to * 1000 - nowMs;
  if (leftMs > 0) return Math.min(TTL, Math.floor(leftMs / 1000));
  return -leftMs > SETTLED_MS ? SETTLED_TTL : TTL;
}

function nextBoundary(windows: readonly Window[], now: number): number | null {
  let next: number | null = null;
  for (const { from, to } of windows) {
    for (const boundary of [from, to]) {
      if (boundary !== null && boundary > now && (next === null || boundary < next)) next = boundary;
    }
  }
  return next;
}
