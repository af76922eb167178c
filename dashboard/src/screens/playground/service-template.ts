import type { ServiceDocument } from '../../../../sdk/src/dns.ts';

type Format = ServiceDocument['dns_format'];

export interface TemplateField {
  readonly id: string;
  readonly examples: readonly string[];
}

/** The placeholders of a template in their order. */
export function placeholdersOf({ query_template, placeholders }: Format): readonly TemplateField[] {
  return [...query_template.matchAll(/\{(\w+)\}/g)].map(([, id = '']) => ({
    id,
    examples: placeholders[id]?.examples ?? [],
  }));
}

/** The name of a template with values; the first example stands in for a missing one. */
export function filledTemplate(format: Format, values: Readonly<Record<string, string>>): string {
  const examples = new Map(placeholdersOf(format).map(({ id, examples: [first = ''] }) => [id, first]));
  return format.query_template.replace(/\{(\w+)\}/g, (_, id: string) => values[id] ?? examples.get(id) ?? '');
}
