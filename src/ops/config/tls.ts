import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { makeFolderSync, replaceFileSync, systemFiles } from '../../base/files.ts';
import { isEveryAddress } from '../../base/network/address.ts';
import { type CertificatePair, TLS_FAULTS, type TlsFault } from '../../base/network/tls.ts';
import type { Clock } from '../../base/time.ts';
import { ConfigError, type TlsFiles } from './config.ts';

/** Makes a self-signed certificate for DNS names and literal addresses. */
export type MakeSelfSigned = (options: {
  readonly hosts: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}) => CertificatePair;

export interface TlsOptions {
  readonly dataDir: string;
  /** The listeners bind it. */
  readonly host: string;
  /** The operator's files; null: a self-signed pair. */
  readonly files: TlsFiles | null;
  readonly clock: Clock;
  readonly makeSelfSigned: MakeSelfSigned;
}

export interface LoadedTls extends CertificatePair {
  /** `made` and `renewed`: new on disk. */
  readonly origin: 'operator' | 'kept' | 'made' | 'renewed';
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

/** Remaining lifetime at which a self-signed pair is renewed. */
const RENEW_BEFORE_MS = 30 * 86_400_000;
const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

/**
 * The certificate of the TLS listeners. Call it again to read the operator's files again, or to renew.
 * @throws ConfigError when the operator's files cannot be read or parsed, or do not match
 */
export function loadTls(options: TlsOptions): LoadedTls {
  return options.files === null ? selfSigned(options) : operatorPair(options.files);
}

function operatorPair(files: TlsFiles): LoadedTls {
  const faults: string[] = [];
  const cert = readPem(files.cert, TLS_FAULTS.certFile, faults);
  const key = readPem(files.key, TLS_FAULTS.keyFile, faults);
  const certificate = cert === null ? null : parseOr(() => new X509Certificate(cert));
  const privateKey = key === null ? null : parseOr(() => createPrivateKey(key));
  if (cert !== null && certificate === null) faults.push(TLS_FAULTS.certForm);
  if (key !== null && privateKey === null) {
    faults.push(TLS_FAULTS.keyForm);
  }
  if (certificate !== null && privateKey !== null && !certificate.checkPrivateKey(privateKey)) {
    faults.push(TLS_FAULTS.pair);
  }
  if (faults.length > 0 || certificate === null) throw new ConfigError(faults);
  return { cert: cert!, key: key!, origin: 'operator', notAfter: endOf(certificate) };
}

function selfSigned({ dataDir, host, clock, makeSelfSigned }: TlsOptions): LoadedTls {
  const directory = join(dataDir, 'tls');
  const hosts = isEveryAddress(host) || LOOPBACK.includes(host) ? LOOPBACK : [...LOOPBACK, host];
  const now = clock();
  const kept = keptPair(directory);
  if (kept !== null && kept.notAfter - now > RENEW_BEFORE_MS && covers(kept.cert, hosts)) return kept;
  const pair = makeSelfSigned({ hosts, now });
  writePair(directory, pair);
  return {
    ...pair,
    origin: kept === null ? 'made' : 'renewed',
    notAfter: endOf(new X509Certificate(pair.cert)),
  };
}

/** Null when there is no pair on disk, or the two files do not match. */
function keptPair(directory: string): LoadedTls | null {
  return parseOr(() => {
    const cert = systemFiles.read(join(directory, 'cert.pem')).toString();
    const key = systemFiles.read(join(directory, 'key.pem')).toString();
    const certificate = new X509Certificate(cert);
    if (!certificate.checkPrivateKey(createPrivateKey(key))) return null;
    return { cert, key, origin: 'kept', notAfter: endOf(certificate) };
  });
}

function covers(cert: string, hosts: readonly string[]): boolean {
  const certificate = new X509Certificate(cert);
  return hosts.every((host) =>
    isIP(host) === 0 ? certificate.checkHost(host) !== undefined : certificate.checkIP(host) !== undefined,
  );
}

/** Replaces each file atomically. After a crash between the two the pair does not match, and is made again. */
function writePair(directory: string, pair: CertificatePair): void {
  makeFolderSync(directory, 0o700);
  replaceFileSync(join(directory, 'key.pem'), pair.key, 0o600);
  replaceFileSync(join(directory, 'cert.pem'), pair.cert, 0o644);
}

function readPem(path: string, fault: TlsFault, faults: string[]): string | null {
  const content = parseOr(() => systemFiles.read(path).toString());
  if (content === null) faults.push(fault);
  return content;
}

function endOf(certificate: X509Certificate): number {
  return certificate.validToDate.getTime();
}

function parseOr<T>(parse: () => T): T | null {
  try {
    return parse();
  } catch {
    return null;
  }
}
