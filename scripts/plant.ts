/**
 * Puts faults into source files as Node loads them, so that the tree stays as it is:
 *
 *   PLANTED='[{"file":"src/a.ts","from":"await sync();","to":""}]' node --import ./scripts/plant.ts ...
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

/** Environment of a Node process that loads the faults. @throws Error as `planted` does */
export function plantedEnvironment(...texts: readonly PlantedText[]): NodeJS.ProcessEnv {
  for (const text of texts) planted(text, readFileSync(new URL(text.file, ROOT), 'utf8'));
  const options = [process.env.NODE_OPTIONS, `--import=${import.meta.url}`];
  return { PLANTED: JSON.stringify(texts), NODE_OPTIONS: options.filter(Boolean).join(' ') };
}

const texts = JSON.parse(process.env.PLANTED ?? '[]') as readonly PlantedText[];
/** Files that this thread has not loaded yet, though a fault is to be in them. */
const absent = new Set(texts.map(({ file }) => file));

/** Files with a fault that this thread has not loaded: nothing can find those. */
export function plantedAbsent(): readonly string[] {
  return [...absent];
}

if (texts.length > 0) {
  const byUrl = Map.groupBy(texts, ({ file }) => new URL(file, ROOT).href);
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const [path] = url.split(/[?#]/, 1);
      const mine = byUrl.get(path!);
      if (mine === undefined) return loaded;
      let source = readFileSync(fileURLToPath(path!), 'utf8');
      for (const text of mine) source = planted(text, source);
      for (const { file } of mine) absent.delete(file);
      return { ...loaded, source };
    },
  });
}
