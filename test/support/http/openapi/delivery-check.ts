import { readFileSync } from 'node:fs';
import { createValidator, step, type Validator } from './validator.ts';

let closed: Validator | null = null;

/** Null: the body is that of its event in docs/openapi.json, without any other field. @param text as it was sent */
export function faultOfDelivery(text: string): string | null {
  closed ??= createValidator(
    JSON.parse(readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8')),
    true,
  );
  const body = JSON.parse(text) as { readonly event: string };
  const media = `requestBody/content/${step('application/json')}/schema`;
  return closed.faultOf(`/webhooks/${step(body.event)}/post/${media}`, body);
}
