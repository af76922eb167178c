/** The tables of the dataset registry. */

/** `importing`: some of its parts are stored. `served`: all of them are. `retired`: its parts are deleted, or will be. */
export type VersionState = 'importing' | 'served' | 'retired';

/** A version of a dataset. Rows stay when it is retired, so that no other content is published under its number. */
export interface DatasetVersionsTable {
  id: string;
  slug: string;
  version: string;
  state: VersionState;
  /** JSON of the signed manifest. */
  manifest: string;
  items: number;
  windows: number;
  /** Of the items file. */
  octets: number;
  /** How the files were divided into parts: an import goes on only where it divides them in the same way. */
  layout: number;
  /** Parts stored so far. */
  parts: number;
  /** 1 until the parts of a retired version are deleted. */
  has_parts: number;
  /** Random, of the process that imports; null: none does. */
  lease: string | null;
  /** Any process may take the lease from then on. */
  lease_until: number;
  created_at: number;
  published_at: number | null;
  retired_at: number | null;
}

/** `items`: what the change log and snapshots carry. `lines`: the octets of the items file. */
export type PartKind = 'items' | 'lines';

export interface DatasetPartsTable {
  version_id: string;
  kind: PartKind;
  /** Ascends within a version, over both kinds. */
  part: number;
  /** Deflated (RFC 1951). */
  data: Uint8Array;
}

/** Public keys of attestations. */
export interface DatasetKeysTable {
  kid: string;
  /** Base64 of 32 octets. */
  public_key: string;
  /** Unix second of its creation; for the key of another publisher, of its first known attestation. */
  since: number;
  /** Unix second from which a newer key attests, or null. */
  until: number | null;
  /** 1: made by `uqrp dataset keygen`. */
  is_own: number;
}
