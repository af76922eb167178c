import { CLASS, OPCODE } from '../codes.ts';
import { type EdnsOption, NO_OPTIONS } from './edns.ts';
import { encodeMessage } from './message.ts';

export interface QueryFields {
  readonly id: number;
  readonly rd: boolean;
  /** Absent: false. */
  readonly cd?: boolean;
  /** Absent: class IN. */
  readonly qclass?: number;
  /** Fields of a version-0 OPT record. Null: no EDNS. */
  readonly edns: {
    readonly payload: number;
    readonly dnssecOk: boolean;
    readonly options?: readonly EdnsOption[];
  } | null;
}

/** Encodes a query with one question. `qname` in wire form. */
export function encodeQuery(qname: Uint8Array, qtype: number, fields: QueryFields): Uint8Array {
  const { id, rd, cd = false, qclass = CLASS.IN, edns } = fields;
  return encodeMessage({
    id,
    qr: false,
    opcode: OPCODE.QUERY,
    aa: false,
    tc: false,
    rd,
    ra: false,
    ad: false,
    cd,
    rcode: 0,
    question: [{ qname, qtype, qclass }],
    answer: [],
    authority: [],
    additional: [],
    edns: edns === null ? null : { version: 0, options: NO_OPTIONS, ...edns },
  });
}
