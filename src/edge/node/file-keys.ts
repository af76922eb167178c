import type { Clock } from '../../core/clock.ts';
import { keyText, loadKeys, parseKeys } from '../dnssec/keys/key-files.ts';
import { KeyError, keySetData } from '../dnssec/keys/key-set.ts';
import type { ReadKeys } from './keys.ts';

export interface FileKeysOptions {
  readonly dataDir: string;
  readonly zones: readonly string[];
}

/** Makes missing key files. @throws KeyError when a file is unusable */
export function makeKeyFiles({ dataDir, zones }: FileKeysOptions, clock: Clock): void {
  for (const zone of zones) loadKeys(dataDir, zone, clock);
}

/** Key sets in the data directory. A missing file is an error: keys in use are never replaced by new ones. */
export function fileKeys({ dataDir, zones }: FileKeysOptions): ReadKeys {
  return async () => {
    const texts = zones.map((zone) => {
      const text = keyText(dataDir, zone);
      if (text === null) throw new KeyError(`there is no key file of ${zone}`);
      return { zone, text };
    });
    return {
      mark: JSON.stringify(texts),
      open: () => texts.map(({ zone, text }) => keySetData(parseKeys(text, zone))),
    };
  };
}
