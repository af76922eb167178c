/** The protocol brand. Everything that spells it is derived here, so that a change of brand is a change of one word. */
export const BRAND = 'svc';

/** Envelope format version, field `v` of every data answer. */
export const ENVELOPE_VERSION = `${BRAND}1`;

/** First letters of a namespace query token. */
export const QUERY_TOKEN_PREFIX = `${BRAND}q`;
