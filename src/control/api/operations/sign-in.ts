import { BOOLEAN, textOf } from '../../../core/input/readers.ts';
import { arrayOf, resourceSchema, TIME } from '../../../core/input/schema.ts';
import { optional, type Reader, required, shape } from '../../../core/input/shape.ts';
import { LIMITS } from '../../../core/limits.ts';
import { SESSION_SCHEMA } from '../../accounts/own-sessions.ts';
import { FLOW_FORM } from '../../accounts/sign-in/codes.ts';
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

/** Mail programs copy white space around the digits, and people write it between them. */
const CODE_FORM = /^\s*[0-9](?:\s*[0-9]){5}\s*$/;

const CODE: Reader<string> = {
  schema: { type: 'string', pattern: CODE_FORM.source, examples: ['428913'] },
  read(fields, name) {
    const text = textOf().read(fields, name, undefined);
    if (text === undefined) return undefined;
    if (CODE_FORM.test(text)) return text.replaceAll(/\s/g, '');
    fields.fault(name, 'must be six digits');
    return undefined;
  },
};

const FLOW_SCHEMA = {
  type: 'string',
  pattern: FLOW_FORM.source,
  examples: ['Zm9yIG9uZSBicm93c2VyIQ'],
} as const;

const FLOW: Reader<string> = {
  schema: {
    ...FLOW_SCHEMA,
    description:
      'What `POST /auth/sign_in` answered. A page of this server may leave it out: its cookie has it. Without a flow the limits are narrower',
  },
  read(fields, name) {
    const text = fields.text(name);
    if (text === undefined || FLOW_FORM.test(text)) return text;
    fields.fault(name, 'is not a flow');
    return undefined;
  },
};

export const SIGN_IN = shape('SignIn', { email: required(EMAIL) });
export const VERIFICATION = shape('Verification', {
  email: required(EMAIL),
  code: required(CODE),
  flow: optional(FLOW),
  cookie: optional(BOOLEAN),
});

/** The answer to a request for a code. */
export interface SignInFlow {
  readonly flow: string;
}

const SIGN_IN_FLOW_SCHEMA = resourceSchema<SignInFlow>('SignInFlow', {
  flow: { ...FLOW_SCHEMA, description: 'For `POST /auth/verify`. The code in the mail belongs to it' },
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
    description: `The answer is the same for every address. The code has six digits, is valid for ${LIMITS.signInCodeMinutes} minutes and belongs to the flow in the answer, which pages of this server get as a cookie too; ${LIMITS.signInCodeTries} wrong tries with that flow make it void. Up to ${LIMITS.signInCodes} codes of an address are valid side by side. The first sign-in makes the account. At most ${LIMITS.signInsPerMinute} a minute from one network address, ${LIMITS.signInsPerQuarterHour} in 15 minutes for one mail address from one network, and ${LIMITS.signInCodesPerQuarterHour} for one mail address from all. A browser that the address has signed in from has ${LIMITS.signInsPerQuarterHour} in 15 minutes of its own.`,
    tag,
    auth: 'none',
    request: SIGN_IN.schema,
    responses: {
      202: { description: 'A mail is sent', schema: SIGN_IN_FLOW_SCHEMA, headers: ['Set-Cookie'] },
    },
    errors: [422, 429],
  },
  verify: {
    operationId: 'verifyCode',
    summary: 'Begins a session with a code',
    description: `Send the flow that asked for the code. Without a flow the code may be any live one of the address, but then at most ${LIMITS.triesWithoutFlowPerHour} an hour may fail from one network address and ${LIMITS.triesWithoutFlowPerDay} a day for the mail address, and at most ${LIMITS.verificationsPerMinute} a minute are tried. With \`"cookie": true\` the session comes as a cookie, which counts for pages of this server alone.`,
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
