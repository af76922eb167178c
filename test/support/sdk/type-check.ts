import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

interface TypeFault {
  /** The line of the program that it is in. */
  readonly line: string;
  readonly message: string;
}

/** Files that do not change while the tests run, such as those of the language: parsed once for all programs. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/**
 * The compiler's messages for each program, with this repository's settings.
 * @param texts of programs that are no files, by path
 */
export function typeFaults(
  paths: readonly string[],
  texts: ReadonlyMap<string, string> = new Map(),
): readonly (readonly TypeFault[])[] {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (file) => ts.sys.readFile(file));
  const { options: own } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, ROOT);
  const options = { ...own, typeRoots: [`${ROOT}node_modules/@types`] };
  const plain = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...plain,
    fileExists: (file) => texts.has(file) || plain.fileExists(file),
    readFile: (file) => texts.get(file) ?? plain.readFile(file),
    getSourceFile(file, ...rest) {
      const text = texts.get(file);
      if (text !== undefined) return ts.createSourceFile(file, text, ts.ScriptTarget.ES2024);
      if (!file.includes('/node_modules/')) return plain.getSourceFile(file, ...rest);
      if (!parsed.has(file)) parsed.set(file, plain.getSourceFile(file, ...rest));
      return parsed.get(file);
    },
  };
  const program = ts.createProgram(paths, options, host);
  return paths.map((path) => {
    const source = program.getSourceFile(path);
    const text = source?.text ?? '';
    return ts.getPreEmitDiagnostics(program, source).map(({ start = 0, messageText }) => ({
      line: text.slice(text.lastIndexOf('\n', start) + 1, text.indexOf('\n', start)),
      message: ts.flattenDiagnosticMessageText(messageText, ' '),
    }));
  });
}
