import type { ServiceDocument } from '../../../../sdk/src/dns.ts';
import { placeholdersOf } from '../playground/service-template.ts';
import { filledName } from './typed-label.ts';

const SHOWN = 3;

/**
 * Three full names where there are so many: those of the service, then its template with the examples of its parts.
 * @param examples below the zone
 */
export function threeExamples(
  examples: readonly string[],
  format: ServiceDocument['dns_format'],
): readonly string[] {
  const zone = format.query_template.replace(/^.*\.public\.v1\./, '');
  const fields = placeholdersOf(format);
  const rows = fields.reduce<readonly Readonly<Record<string, string>>[]>(
    (found, { id, examples: values }) =>
      found.flatMap((row) => values.map((value) => ({ ...row, [id]: value }))),
    [{}],
  );
  // The last ones differ most from the examples of the service, which begin with the first ones.
  const built = rows.toReversed().map((row) => filledName(format.query_template, row));
  return [...new Set([...examples.map((name) => `${name}.${zone}`), ...built])].slice(0, SHOWN);
}
