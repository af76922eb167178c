import type { Row } from './candidate.ts';
import { parseCsv } from './parse-csv.ts';
import { parseDotenv } from './parse-dotenv.ts';
import { parseJsonl } from './parse-jsonl.ts';

export type FileFormat = 'jsonl' | 'csv' | 'env';

/** What a file is, by its name, else by its first letters. */
export function formatOfFile(name: string, text: string): FileFormat {
  if (/\.(?:jsonl|ndjson|json)$/i.test(name)) return 'jsonl';
  if (/\.(?:csv|tsv)$/i.test(name)) return 'csv';
  if (/(?:^|[./])env(?:\.[\w-]+)?$/i.test(name)) return 'env';
  const head = text.trimStart().slice(0, 200);
  if (head.startsWith('{')) return 'jsonl';
  return /^(?:export\s+)?[A-Za-z_]\w*\s*=/m.test(head) ? 'env' : 'csv';
}

/** @param place of the variables of a .env file, such as `env.acme.v1` */
export function parseFile(format: FileFormat, text: string, place: string): readonly Row[] {
  if (format === 'jsonl') return parseJsonl(text);
  return format === 'csv' ? parseCsv(text) : parseDotenv(text, place);
}
