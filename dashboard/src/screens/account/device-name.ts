/** A name for a passkey, so that nobody has to type one. */

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg\//, 'Edge'],
  [/\bFirefox\//, 'Firefox'],
  [/\bOPR\//, 'Opera'],
  [/\bChrom(?:e|ium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bLinux\b/, 'Linux'],
];

/** @param agent `navigator.userAgent` */
export function deviceName(agent: string): string {
  const find = (table: typeof BROWSERS): string | undefined =>
    table.find(([pattern]) => pattern.test(agent))?.[1];
  const parts = [find(BROWSERS), find(SYSTEMS)].filter((part) => part !== undefined);
  return parts.length === 0 ? 'Passkey' : parts.join(' on ');
}

/** The name, or the name with the first number that makes it new: `Chrome on Linux 2`. */
export function newName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  for (let number = 2; ; number++) {
    const numbered = `${name} ${number}`;
    if (!taken.includes(numbered)) return numbered;
  }
}
