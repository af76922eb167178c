/** A finished body as the octets of a message. */

import { LIMITS } from '../../base/limits.ts';
import { type EdnsOption, writeOpt } from '../../protocol/dns/message/edns.ts';
import type { DnsRequest, RequestEdns, RequestFault } from '../../protocol/dns/message/request.ts';
import { isSubdomain } from '../../protocol/dns/name.ts';
import { HEADER_OCTETS, truncateInto } from '../../protocol/dns/skim.ts';
import { MessageWriter } from '../../protocol/dns/writer.ts';
import type { FinishedBody } from './reply.ts';
import type { Rrset } from './zones.ts';

/** A whole reply, before it is fitted to a transport. */
export interface Reply {
  readonly bytes: Uint8Array;
  /** Offset of the OPT record, which comes last; the length when there is none. */
  readonly optAt: number;
}

const QR = 0x8000;
const AA = 0x0400;
const RD = 0x0100;
const CD = 0x0010;
const POINTER = 0xc000;
/** A pointer to the question's name, where every answer's owner is. */
const TO_QNAME = POINTER | HEADER_OCTETS;

const writer = new MessageWriter(4096);

/** Writes a reply: question as sent, owners compressed to it, OPT last and only if the query had one (RFC 6891 §6.1.1). */
export function writeReply(request: DnsRequest, reply: FinishedBody, extra: EdnsOption | null = null): Reply {
  writer.reset();
  const flags = QR | (reply.aa ? AA : 0) | (request.rd ? RD : 0) | (request.cd ? CD : 0);
  const { edns } = request;
  header(request.id, flags | (reply.rcode & 0xf), 1);
  writer.bytes(request.qname);
  writer.u16(request.qtype);
  writer.u16(request.qclass);
  const answers = rrsets(reply.answer, request);
  const authorities = rrsets(reply.authority, request);
  const additionals = rrsets(reply.additional, request);
  const optAt = writer.length;
  if (edns !== null) writeOwnOpt(edns, reply.rcode, [reply.ede, extra]);
  writer.patch16(6, answers);
  writer.patch16(8, authorities);
  writer.patch16(10, additionals + (edns === null ? 0 : 1));
  return { bytes: writer.finish(), optAt };
}

/** The reply to a packet that gets a response code alone. */
export function writeFault(fault: RequestFault): Uint8Array {
  writer.reset();
  const flags = QR | (fault.opcode << 11) | (fault.rd ? RD : 0) | (fault.cd ? CD : 0);
  header(fault.id, flags | (fault.rcode & 0xf), fault.question === null ? 0 : 1);
  if (fault.question !== null) writer.bytes(fault.question);
  if (fault.edns !== null) {
    writeOwnOpt(fault.edns, fault.rcode, []);
    writer.patch16(10, 1);
  }
  return writer.finish();
}

/** A copy of a reply, cut down to header, question and OPT with TC set. */
export function truncated(reply: Reply, questionEnd: number): Uint8Array {
  const { bytes, optAt } = reply;
  const short = new Uint8Array(questionEnd + bytes.length - optAt);
  truncateInto(short, bytes, questionEnd, optAt, bytes.length);
  return short;
}

function header(id: number, flags: number, qdcount: number): void {
  writer.u16(id);
  writer.u16(flags);
  writer.u16(qdcount);
  writer.u16(0);
  writer.u16(0);
  writer.u16(0);
}

function writeOwnOpt(edns: RequestEdns, rcode: number, options: readonly (EdnsOption | null)[]): void {
  writeOpt(writer, {
    payload: LIMITS.udpPayload,
    version: 0,
    extendedRcode: rcode >>> 4,
    dnssecOk: edns.dnssecOk,
    options: options.filter((option) => option !== null),
  });
}

function rrsets(section: readonly Rrset[], request: DnsRequest): number {
  let records = 0;
  for (const set of section) {
    for (const rdata of set.rdata) {
      owner(set.owner, request);
      writer.u16(set.type);
      writer.u16(request.qclass);
      writer.u32(set.ttl);
      writer.u16(rdata.length);
      writer.bytes(rdata);
      records++;
    }
  }
  return records;
}

/** Writes a pointer for an owner that ends the question's name; else the whole name. */
function owner(name: Uint8Array, request: DnsRequest): void {
  const { qname } = request;
  if (name === qname) writer.u16(TO_QNAME);
  else if (isSubdomain(qname, name)) writer.u16(TO_QNAME + qname.length - name.length);
  else writer.name(name, false);
}
