/** What somebody who asks a node gets to know, and what the node claimed of itself meanwhile. The model judges it. */

import type { DatasetQuestion } from './dataset-answers.ts';

/** A question for a record of a customer, or for a name that cannot be one; or for what the registry of datasets has. */
export interface AskedName {
  /** In lower case; as it was sent, letters may differ. Of the registry: the name that all its replies share a counter by. */
  readonly key: string;
  readonly namespace: string;
  /** The plain token; null: none was shown. */
  readonly token: string | null;
  readonly type: 'TXT' | 'A' | 'NSEC' | 'DNSKEY' | 'SOA';
  readonly transport: 'udp' | 'tcp';
  readonly dnssecOk: boolean;
  /** Null: it is for a record. */
  readonly dataset: DatasetQuestion | null;
}

/** Read from the octets of the reply by a library that shares nothing with the product. */
export interface DecodedAnswer {
  readonly rcode: 'NOERROR' | 'REFUSED' | 'SERVFAIL' | 'FORMERR' | 'NXDOMAIN' | 'NOTIMP';
  /** The envelope of a TXT answer, its character strings joined. Null: no TXT record. */
  readonly envelope: string | null;
  /** Of the envelope, when there is one. */
  readonly format: string | null;
  readonly hintTtl: number | null;
  readonly data: Uint8Array | null;
  /** Of the answer's records; null: there are none. */
  readonly ttl: number | null;
}

/** What the node says of itself when the question arrives: an answer is of this or of later. */
export interface NodeClaim {
  readonly cursor: number | null;
  readonly epoch: string | null;
  /** When it last heard from control, by its own clock. */
  readonly heardAt: number | null;
  /** When its view was last known to have everything, by its own clock. */
  readonly currentAt: number | null;
  /** True: it says that its view may be behind. */
  readonly isStale: boolean;
  /** Not null: it began so often without a view, and has not heard all of the log since. */
  readonly anew: number | null;
  /** Its wall clock. */
  readonly clock: number;
}

export interface Observation {
  readonly node: string;
  readonly worker: number;
  /** True time, milliseconds since the epoch: the answer holds for some instant between these two. */
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly claim: NodeClaim;
  /** Its view was replaced by one of another database meanwhile: the answer is of either. */
  readonly isOverRestore: boolean;
  readonly asked: AskedName;
  /** Null: no answer came (killed, cut, or TC that nobody repeated over TCP). */
  readonly answer: DecodedAnswer | null;
}

export type Observe = (observation: Observation) => void;
