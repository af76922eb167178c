/** A small reader of Dockerfiles: the instructions that deploy/Dockerfile uses, and no others. */

export interface Instruction {
  readonly word: string;
  /** Options such as `--from=build`. */
  readonly options: ReadonlyMap<string, string>;
  /** What follows the options. */
  readonly rest: string;
}

export interface Stage {
  readonly image: string;
  readonly name: string | null;
  readonly instructions: readonly Instruction[];
}

const WORDS = new Set([
  ...['FROM', 'WORKDIR', 'COPY', 'RUN', 'ENV', 'VOLUME', 'EXPOSE', 'HEALTHCHECK', 'ENTRYPOINT', 'CMD'],
]);

/** @throws Error on an instruction that is not in `WORDS`, or a line that goes on */
export function parseDockerfile(text: string): readonly Stage[] {
  const stages: { image: string; name: string | null; instructions: Instruction[] }[] = [];
  for (const line of text.split('\n').filter((each) => each.trim() !== '' && !each.startsWith('#'))) {
    const instruction = parseLine(line);
    if (instruction.word === 'FROM') {
      const [image = '', , name] = instruction.rest.split(/\s+/);
      stages.push({ image, name: name ?? null, instructions: [] });
    } else if (stages.length === 0) {
      throw new Error(`before FROM: ${line}`);
    } else {
      stages.at(-1)!.instructions.push(instruction);
    }
  }
  return stages;
}

function parseLine(line: string): Instruction {
  const [word = '', ...words] = line.split(/\s+/);
  if (!WORDS.has(word) || line.endsWith('\\')) throw new Error(`not understood: ${line}`);
  const options = new Map<string, string>();
  while (words[0]?.startsWith('--')) {
    const [name = '', value = ''] = words.shift()!.slice(2).split('=');
    options.set(name, value);
  }
  return { word, options, rest: words.join(' ') };
}

/** The value of an instruction that a stage has once, such as CMD. @throws Error when it has none or several */
export function only(stage: Stage, word: string): string {
  const found = stage.instructions.filter((each) => each.word === word);
  if (found.length !== 1) throw new Error(`${found.length} of ${word}`);
  return found[0]!.rest;
}

/** `["a", "b"]`, the form without a shell: the image has none. */
export function execForm(rest: string): readonly string[] {
  return JSON.parse(rest) as string[];
}

export function environmentOf(stage: Stage): Readonly<Record<string, string>> {
  const pairs = stage.instructions
    .filter(({ word }) => word === 'ENV')
    .flatMap(({ rest }) => rest.split(' '));
  return Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s, 2) as [string, string]));
}

/**
 * Which files Docker leaves out of the context: a path, or a name in any folder (`**` and then a name, in which `*` stands for letters of it).
 * @param text of a .dockerignore
 * @throws Error on another pattern
 */
export function dockerIgnores(text: string): (path: string) => boolean {
  const patterns = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, anywhere = '', name = ''] = /^(\*\*\/(?=[^/]+$))?([\w./*-]+)$/.exec(line) ?? [];
      if (name === '' || (anywhere === '' && name.includes('*'))) throw new Error(`not understood: ${line}`);
      const expression = name.replaceAll('.', '\\.').replaceAll('*', '[^/]*');
      return new RegExp(`^${anywhere === '' ? '' : '(?:.*/)?'}${expression}(?:/|$)`);
    });
  return (path) => patterns.some((pattern) => pattern.test(path));
}
