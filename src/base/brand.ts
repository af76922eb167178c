/** The protocol brand. Every name that contains it is derived here. */
export const BRAND = 'svc';

/** Envelope format version, field `v` of every data answer. */
export const ENVELOPE_VERSION = `${BRAND}1`;

export const QUERY_TOKEN_PREFIX = `${BRAND}q`;

/** First field of a manifest and of a key, and first line of the text that is signed. */
export const ATTESTATION_VERSION = `${BRAND}-attest.v1`;

/** First field of answers and leaves of the transparency index. */
export const TINDEX_VERSION = `${BRAND}-tindex.v1`;

export const IDENTITY_VERSION = `${BRAND}-id.v1`;
