import { variable } from './variable.ts';

/** Printable ASCII without spaces: what a header can hold. A faulty one would stand in the error of the HTTP client. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;
/** Together with `auth-` it is one label of a name. */
const QUERY_TOKEN = /^[A-Za-z0-9]{1,58}$/;

/** Variables that only commands read, a part of `ENVIRONMENT`. `Config` does not hold them. */
export const COMMANDS = {
  UQRP_TOKEN: variable({
    parse: (text) => (TOKEN.test(text) ? text : null),
    fallback: null,
    shown: 'none: `uqrp put` writes to the store',
    meaning: 'API key or session token with which `uqrp put` writes over REST; servers ignore it',
    expects: 'a token: printable ASCII characters without spaces',
  }),
  UQRP_QUERY_TOKEN: variable({
    parse: queryTokenText,
    fallback: null,
    shown: 'none',
    meaning: 'Query token with which `uqrp read` asks for private records; servers ignore it',
    expects: 'a query token: 1 to 58 letters and digits',
  }),
} as const;

export function queryTokenText(text: string): string | null {
  return QUERY_TOKEN.test(text) ? text : null;
}
