import type { Service } from '../../../src/services/service.ts';

/** The part of docs/SERVICES.md that is generated from the services' descriptions. */
export function servicesPage(services: readonly Service[]): string {
  return services.map(section).join('\n');
}

function section({ resource, about }: Service): string {
  const { schema, template, placeholders, examples, exampleResponse, ttl, errors } = about;
  const required = new Set(schema.required);
  return `## ${resource}

${schema.title}. ${schema.description}

\`${template}\`, TTL at most ${ttl} seconds

${Object.entries(placeholders)
  .map(([name, { type, examples }]) => `- \`{${name}}\`, ${type}: ${examples.map(code).join(', ')}`)
  .concat(`- try: ${examples.map(code).join(', ')}`)
  .join('\n')}

\`\`\`
${exampleResponse}
\`\`\`

| field | type | | |
|---|---|---|---|
${Object.entries(schema.properties)
  .map(
    ([name, { type, description, enum: values }]) =>
      `| \`${name}\` | ${type} | ${required.has(name) ? '' : 'where known'} | ${description}${values === undefined ? '' : `: ${values.map((value) => code(String(value))).join(', ')}`} |`,
  )
  .join('\n')}
${errors.length === 0 ? '' : `\n${errors.map(({ code: error, description }) => `- ${error}: ${description}`).join('\n')}\n`}`;
}

function code(text: string): string {
  return `\`${text}\``;
}
