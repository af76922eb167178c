import { CLASS, OPCODE } from '../codes.ts';
import { encodeMessage } from './message.ts';

export interface QueryFields {
  readonly id: number;
  readonly rd: boolean;
  /** UDP payload and DO of an OPT record without options, or null: no EDNS. */
  readonly edns: { readonly payload: number; readonly dnssecOk: boolean } | null;
}

/** A query with one question of class IN, as a client sends it. */
export function encodeQuery(qname: Uint8Array, qtype: number, { id, rd, edns }: QueryFields): Uint8Array {
  return encodeMessage({
    id,
    qr: false,
    opcode: OPCODE.QUERY,
    aa: false,
    tc: false,
    rd,
    ra: false,
    ad: false,
    cd: false,
    rcode: 0,
    question: [{ qname, qtype, qclass: CLASS.IN }],
    answer: [],
    authority: [],
    additional: [],
    edns: edns === null ? null : { ...edns, version: 0, options: [] },
  });
}
