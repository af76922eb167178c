import assert from 'node:assert/strict';
import { type Answer, assertFailure, newName, type World } from '../../http/world.ts';

const WRONG = 'Code is not valid';

export const newEmail = (): string => `${newName()}@example.com`;

export interface SignInAsked {
  readonly code: string;
  readonly flow: string;
  /** The cookies of the answer, as a browser sends them back. */
  readonly cookie: string;
}

/** Requests a code, and returns the one that was mailed with the flow that it belongs to. */
export async function askFor(
  world: World,
  email: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<SignInAsked> {
  const answer = await world.caller(null).send('POST', '/auth/sign_in', { email }, headers);
  assert.equal(answer.status, 202, answer.text);
  const mail = world.mails.at(-1);
  assert.equal(mail?.email, email);
  assert.match(mail.code, /^[0-9]{6}$/);
  return { code: mail.code, flow: answer.json.flow, cookie: cookiesOf(answer) };
}

/** Requests a code, and returns the one that was mailed. */
export async function codeFor(world: World, email: string): Promise<string> {
  return (await askFor(world, email)).code;
}

/** The cookies that an answer sets, as a browser sends them back. */
export function cookiesOf({ headers }: Answer): string {
  return [headers['set-cookie'] ?? []]
    .flat()
    .map(String)
    .map((text) => text.split(';')[0])
    .join('; ');
}

export function verify(world: World, email: string, code: string, more: object = {}): Promise<Answer> {
  return world.caller(null).post('/auth/verify', { email, code, ...more });
}

export const refused = (answer: Answer): void => assertFailure(answer, 401, 'authentication_error', WRONG);
