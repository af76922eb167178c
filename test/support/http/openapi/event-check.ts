import { type Json, type OpenApi, resolve } from './document.ts';
import { contract } from './response-check.ts';

interface EventFields {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: string;
}

/** Null: the event is one of those that the document describes for the stream at this path. */
export async function faultOfEvent(path: string, fields: EventFields): Promise<string | null> {
  const { document, closed } = await contract();
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
  const faults: string[] = [];
  for (const choice of choicesOf(document, path)) {
    const schema = resolve<Json>(document, choice);
    const { data } = schema.properties as { readonly data: { readonly contentSchema: Json } };
    const fault =
      closed.faultOfSchema(choice, given) ??
      closed.faultOfSchema(data.contentSchema, JSON.parse(fields.data));
    if (fault === null) return null;
    faults.push(fault);
  }
  return faults.join('; or ');
}

function choicesOf(document: OpenApi, path: string): readonly Json[] {
  const [response] = Object.values(document.paths[path]!.get!.responses);
  const { schema } = resolve(document, response!).content!['text/event-stream']!;
  const { contentSchema } = schema as {
    readonly contentSchema: { readonly items: { readonly anyOf: readonly Json[] } };
  };
  return contentSchema.items.anyOf;
}
