import { BOOLEAN, textOf } from '../../../core/input/readers.ts';
import { arrayOf, resourceSchema, TIME } from '../../../core/input/schema.ts';
import { optional, type Reader, required, shape } from '../../../core/input/shape.ts';
import { LIMITS } from '../../../core/limits.ts';
import { SESSION_SCHEMA } from '../../accounts/own-sessions.ts';
import { normalizeEmail, USER_SCHEMA } from '../../accounts/users.ts';
import type { SignedInResource } from '../answers/session.ts';
import { DELETED, type Operation } from '../openapi/operation.ts';

/** The stored form of a mail address. */
export const EMAIL: Reader<string> = {
  schema: { type: 'string', format: 'email', maxLength: LIMITS.mailAddress, examples: ['me@example.com'] },
  read(fields, name) {
    const text = fields.text(name);
    if (text === undefined) return undefined;
    const email = normalizeEmail(text);
    if (email === null) fields.fault(name, 'is not an email address');
    return email ?? undefined;
  },
};

const CODE_FORM = /^[0-9]{6}$/;

const CODE: Reader<string> = {
  schema: { type: 'string', pattern: CODE_FORM.source, examples: ['428913'] },
  read(fields, name) {
    const text = textOf().read(fields, name, undefined);
    if (text === undefined || CODE_FORM.test(text)) return text;
    fields.fault(name, 'must be six digits');
    return undefined;
  },
};

export const SIGN_IN = shape('SignIn', { email: required(EMAIL) });
export const VERIFICATION = shape('Verification', {
  email: required(EMAIL),
  code: required(CODE),
  cookie: optional(BOOLEAN),
});

export const SIGNED_IN_SCHEMA = resourceSchema<SignedInResource>(
  'SignedIn',
  {
    token: { type: 'string', description: 'A JWT. Absent with `"cookie": true`' },
    token_type: { type: 'string', enum: ['Bearer'] },
    expires_at: TIME,
    user: USER_SCHEMA,
  },
  { token: true, token_type: true },
);

const tag = 'Sign-in';

export const SIGN_IN_OPERATIONS = {
  signIn: {
    operationId: 'signIn',
    summary: 'Mails a code to sign in with',
    description: `The answer is the same for every address. The code has six digits, is valid for ${LIMITS.signInCodeMinutes} minutes and replaces an earlier one; ${LIMITS.signInCodeTries} wrong tries make it void. The first sign-in makes the account. At most ${LIMITS.signInsPerMinute} a minute from one network address, and ${LIMITS.signInsPerQuarterHour} in 15 minutes for one mail address.`,
    tag,
    auth: 'none',
    request: SIGN_IN.schema,
    responses: { 202: { description: 'A mail is sent' } },
    errors: [422, 429],
  },
  verify: {
    operationId: 'verifyCode',
    summary: 'Begins a session with a code',
    description: `At most ${LIMITS.verificationsPerMinute} a minute from one network address. Failures slow down both the network address and the mail address. With \`"cookie": true\` the session comes as a cookie, which counts for pages of this server alone.`,
    tag,
    auth: 'none',
    request: VERIFICATION.schema,
    responses: {
      200: { description: 'Signed in', schema: SIGNED_IN_SCHEMA, headers: ['Set-Cookie'] },
    },
    errors: [401, 403, 422, 429],
  },
  signOut: {
    operationId: 'signOut',
    summary: 'Ends the session of this request, at once',
    tag,
    auth: 'session',
    responses: { 204: { ...DELETED[204], headers: ['Set-Cookie'] } },
  },
  listSessions: {
    operationId: 'listSessions',
    summary: 'Lists the sessions of the user, newest first',
    tag,
    auth: 'session',
    responses: { 200: { description: 'The sessions', schema: arrayOf(SESSION_SCHEMA) } },
  },
  endSession: {
    operationId: 'deleteSession',
    summary: 'Ends one session of the user, at once',
    tag,
    auth: 'session',
    responses: DELETED,
  },
  endSessions: {
    operationId: 'deleteSessions',
    summary: 'Ends every session of the user, this one included, at once',
    tag,
    auth: 'session',
    responses: { 204: { ...DELETED[204], headers: ['Set-Cookie'] } },
  },
} as const satisfies Readonly<Record<string, Operation>>;
