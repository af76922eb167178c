/**
 * The library of WebAuthn and its parsers of certificates, loaded with the first request about passkeys: 7 MB that a process without passkeys does not
 * need.
 */
export async function webauthn() {
  const [server, helpers] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ]);
  return { ...server, ...helpers };
}
