import assert from 'node:assert/strict';
import { type Answer, assertFailure, type Caller, type Json, type World } from '../../http/world.ts';
import type { Authenticator, Deviations } from './authenticator.ts';

export const NOT_VALID = 'response is not a valid registration of a passkey';
export const ENDED = 'response has a challenge that was used or has expired';
export const OTHER_ORIGIN = 'response comes from a page of another origin';
export const REFUSED_SIGN_IN = 'Passkey is not valid';
export const FIVE_MINUTES = 300_000;

export async function creationOptions(caller: Caller): Promise<Json> {
  const answer = await caller.post('/passkeys/options');
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

export async function register(
  caller: Caller,
  authenticator: Authenticator,
  but: Deviations = {},
): Promise<Answer> {
  const response = authenticator.create(await creationOptions(caller), but);
  return caller.post('/passkeys', { name: 'laptop', response });
}

export async function requestOptions(world: World): Promise<Json> {
  const answer = await world.caller(null).post('/auth/passkeys/options');
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

export async function signIn(
  world: World,
  authenticator: Authenticator,
  but: Deviations = {},
): Promise<Answer> {
  const response = authenticator.get(await requestOptions(world), but);
  return world.caller(null).post('/auth/passkeys/verify', { response });
}

export function assertRefused(answer: Answer): void {
  assertFailure(answer, 401, 'authentication_error', REFUSED_SIGN_IN);
}

export function assertInvalid(answer: Answer, ...messages: string[]): void {
  assertFailure(answer, 422, 'validation_error', messages);
}
