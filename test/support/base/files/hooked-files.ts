import type { Files } from '../../../../src/base/files.ts';

/** One call of the port, or of a file that is open, before it is made. */
export interface FileCall {
  readonly call: keyof Files | 'write' | 'sync' | 'size' | 'close';
  /** Of the file; for `rename` and `link` both. */
  readonly paths: readonly string[];
}

type Calls = Record<string, (...args: unknown[]) => unknown>;

/** Files whose every call is told before. @param hook what it throws is thrown by the call; with `skip` the call is not made */
export function hookedFiles(files: Files, hook: (call: FileCall) => 'skip' | undefined): Files {
  const told = (calls: object, path?: string): object =>
    Object.fromEntries(
      Object.entries(calls as Calls).map(([name, call]) => [
        name,
        (...args: unknown[]) => {
          const paths = path === undefined ? args.filter((each) => typeof each === 'string') : [path];
          if (name !== 'draftOf' && hook({ call: name, paths } as FileCall) === 'skip') return undefined;
          const result = call(...args);
          if (name !== 'open') return result;
          return result instanceof Promise
            ? result.then((file: object) => told(file, paths[0]))
            : told(result as object, paths[0]);
        },
      ]),
    );
  const { async, ...now } = files;
  const later = Object.fromEntries(
    Object.entries(told(async) as Calls).map(([name, call]) => [
      name,
      // What the hook throws is a rejection here.
      async (...args: unknown[]) => call(...args),
    ]),
  );
  return { ...told(now), async: later } as unknown as Files;
}

/** Notes what changes something, in order: `write NAME`, `sync NAME`, `rename OLD NEW`. A folder is `NAME/`; a draft's own part is cut. */
export function recordedFiles(files: Files): { readonly files: Files; readonly events: string[] } {
  const events: string[] = [];
  const nameOf = (path: string): string =>
    path.slice(path.lastIndexOf('/') + 1).replace(/\.draft-[0-9a-f]{12}$/, '.draft');
  const verbs: Partial<Record<FileCall['call'], string>> = {
    write: 'write',
    sync: 'sync',
    rename: 'rename',
    link: 'link',
    remove: 'remove',
    makeFolder: 'make',
    syncFolder: 'sync',
  };
  const hooked = hookedFiles(files, ({ call, paths }) => {
    const verb = verbs[call];
    if (verb === undefined || (call === 'remove' && files.facts(paths[0]!, 'link') === null))
      return undefined;
    const isFolder = call === 'makeFolder' || call === 'syncFolder';
    events.push(`${verb} ${paths.map(nameOf).join(' ')}${isFolder ? '/' : ''}`);
    return undefined;
  });
  return { files: hooked, events };
}
