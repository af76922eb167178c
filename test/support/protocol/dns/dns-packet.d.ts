/** The part of the npm package `dns-packet` that tests use as an oracle; it ships no types. */
declare module 'dns-packet' {
  export interface DecodedRecord {
    name: string;
    type: string;
    ttl?: number;
    class?: string;
    data?: unknown;
    [field: string]: unknown;
  }
  export interface DecodedPacket {
    id: number;
    type: 'query' | 'response';
    flags: number;
    rcode: string;
    opcode: string;
    flag_aa: boolean;
    flag_tc: boolean;
    flag_rd: boolean;
    flag_ra: boolean;
    flag_ad: boolean;
    flag_cd: boolean;
    questions: { name: string; type: string; class: string }[];
    answers: DecodedRecord[];
    authorities: DecodedRecord[];
    additionals: DecodedRecord[];
  }
  export function decode(bytes: Uint8Array): DecodedPacket;
  export function encode(packet: Record<string, unknown>): Buffer;
}
