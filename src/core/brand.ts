/** The protocol brand. Every name that contains it is derived here. */
export const BRAND = 'svc';

/** Envelope format version, field `v` of every data answer. */
export const ENVELOPE_VERSION = `${BRAND}1`;

export const QUERY_TOKEN_PREFIX = `${BRAND}q`;
