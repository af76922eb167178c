/**
 * Puts one fault into one source file as Node loads it, so that the tree stays as it is:
 *
 *   PLANTED='{"file":"src/a.ts","from":"await sync();","to":""}' node --import ./scripts/plant.ts ...
 *
 * Threads and programs that the process starts with its environment get the fault too.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

/** One piece of text of one file, and what stands there instead. */
export interface PlantedText {
  /** Path from the project's root. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Where `from` begins. Without it, `from` must stand in the file exactly once. */
  readonly at?: number;
}

const ROOT = new URL('../', import.meta.url);

/** The file's text with the fault in it. @throws Error when the text is not there, or stands there more than once */
export function planted({ file, from, to, at }: PlantedText, source: string): string {
  const times = source.split(from).length - 1;
  const place = at ?? source.indexOf(from);
  if (times === 0 || !source.startsWith(from, place)) throw new Error(`${file} does not hold: ${from}`);
  if (at === undefined && times > 1) throw new Error(`${file} holds ${times} times: ${from}`);
  return source.slice(0, place) + to + source.slice(place + from.length);
}

/** Environment of a Node process that loads the fault. @throws Error as `planted` does */
export function plantedEnvironment(text: PlantedText): NodeJS.ProcessEnv {
  planted(text, readFileSync(new URL(text.file, ROOT), 'utf8'));
  const options = [process.env.NODE_OPTIONS, `--import=${import.meta.url}`];
  return { PLANTED: JSON.stringify(text), NODE_OPTIONS: options.filter(Boolean).join(' ') };
}

let isLoaded = false;

/** Whether this thread has loaded the file with the fault. */
export function plantedIsLoaded(): boolean {
  return isLoaded;
}

if (process.env.PLANTED !== undefined) {
  const text = JSON.parse(process.env.PLANTED) as PlantedText;
  const { href } = new URL(text.file, ROOT);
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (url.split(/[?#]/, 1)[0] !== href) return loaded;
      isLoaded = true;
      return { ...loaded, source: planted(text, readFileSync(fileURLToPath(href), 'utf8')) };
    },
  });
}
