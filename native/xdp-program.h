/* The program of an interface, in instructions of BPF: it decides which frames go to an AF_XDP socket. */
#ifndef UQRP_XDP_PROGRAM_H
#define UQRP_XDP_PROGRAM_H

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PROGRAM_MOST = 96 };
/* Longer frames do not fit the memory of the server: chunks of 2,048 octets, of which the kernel keeps 256. */
enum { FRAME_MOST = 1700 };

/* Offsets of jumps until all instructions are there; the last two instructions are `return XDP_PASS`. */
enum { TO_PASS = 0x7ffe, TO_LOOKUP = 0x7ffd, TO_IPV6 = 0x7ffc, TO_ACCEPTED = 0x7ffb };

typedef struct {
  struct bpf_insn *at;
  uint32_t count;
} program_text;

static inline void emit(program_text *p, uint8_t code, uint8_t to, uint8_t from, int off, int32_t value) {
  p->at[p->count++] = (struct bpf_insn){.code = code, .dst_reg = to, .src_reg = from, .off = (int16_t)off, .imm = value};
}

static inline void land(program_text *p, int mark) {
  for (uint32_t i = 0; i < p->count; i++)
    if ((p->at[i].code & 7) != BPF_LD && p->at[i].off == mark) p->at[i].off = (int16_t)(p->count - i - 1);
}

#define MOVE(to, from) emit(&p, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define SET(to, value) emit(&p, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value)
#define ADD(to, value) emit(&p, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value)
#define AND(to, value) emit(&p, BPF_ALU64 | BPF_AND | BPF_K, to, 0, 0, value)
#define LOAD(size, to, from, off) emit(&p, BPF_LDX | BPF_MEM | (size), to, from, off, 0)
#define STORE(size, to, off, from) emit(&p, BPF_STX | BPF_MEM | (size), to, from, off, 0)
#define STORE_VALUE(size, to, off, value) emit(&p, BPF_ST | BPF_MEM | (size), to, 0, off, value)
#define IF(how, one, value, mark) emit(&p, BPF_JMP | (how) | BPF_K, one, 0, mark, value)
#define IF_WORD(how, one, value, mark) emit(&p, BPF_JMP32 | (how) | BPF_K, one, 0, mark, value)
#define IF_AFTER(one, other, mark) emit(&p, BPF_JMP | BPF_JGT | BPF_X, one, other, mark, 0)
#define GO(mark) emit(&p, BPF_JMP | BPF_JA, 0, 0, mark, 0)
#define MAP(to, fd) (emit(&p, BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_FD, 0, fd), emit(&p, 0, 0, 0, 0, 0))
#define CALL(function) emit(&p, BPF_JMP | BPF_CALL, 0, 0, 0, function)

/*
 * Writes the program, and returns the number of its instructions. `sockets` holds an AF_XDP socket a queue, `addresses` those that are served. Passed
 * on to the kernel are, besides all that is no plain UDP to the port: frames for another MAC address or destination, and sources that no datagram may
 * come from or that need an interface to be answered (this network, loopback, multicast, reserved; of IPv6 all but global and unique local ones).
 */
static inline uint32_t make_program(struct bpf_insn *into, const unsigned char *mac, uint16_t port, int sockets, int addresses) {
  enum { R0, R1, R2, R3, R4, R5, CONTEXT, FRAME, END, UNUSED, STACK };
  program_text p = {.at = into};
  uint32_t mac_start;
  uint16_t mac_end;
  memcpy(&mac_start, mac, 4);
  memcpy(&mac_end, mac + 4, 2);
  (void)UNUSED, (void)R0;

  MOVE(CONTEXT, R1);
  LOAD(BPF_W, FRAME, R1, offsetof(struct xdp_md, data));
  LOAD(BPF_W, END, R1, offsetof(struct xdp_md, data_end));
  MOVE(R4, FRAME);
  ADD(R4, 42);
  IF_AFTER(R4, END, TO_PASS);
  MOVE(R4, FRAME);
  ADD(R4, FRAME_MOST);
  IF_AFTER(END, R4, TO_PASS);
  LOAD(BPF_W, R5, FRAME, 0);
  IF_WORD(BPF_JNE, R5, (int32_t)mac_start, TO_PASS);
  LOAD(BPF_H, R5, FRAME, 4);
  IF(BPF_JNE, R5, mac_end, TO_PASS);
  LOAD(BPF_H, R5, FRAME, 12);
  IF(BPF_JEQ, R5, htons(0x86dd), TO_IPV6);
  IF(BPF_JNE, R5, htons(0x0800), TO_PASS);

  LOAD(BPF_B, R5, FRAME, 14);
  IF(BPF_JNE, R5, 0x45, TO_PASS);
  LOAD(BPF_B, R5, FRAME, 23);
  IF(BPF_JNE, R5, IPPROTO_UDP, TO_PASS);
  /* More fragments, or an offset. */
  LOAD(BPF_H, R5, FRAME, 20);
  AND(R5, htons(0x3fff));
  IF(BPF_JNE, R5, 0, TO_PASS);
  LOAD(BPF_H, R5, FRAME, 36);
  IF(BPF_JNE, R5, htons(port), TO_PASS);
  LOAD(BPF_B, R5, FRAME, 26);
  IF(BPF_JEQ, R5, 0, TO_PASS);
  IF(BPF_JEQ, R5, 127, TO_PASS);
  IF(BPF_JGE, R5, 224, TO_PASS);
  STORE_VALUE(BPF_DW, STACK, -16, 0);
  STORE_VALUE(BPF_W, STACK, -8, (int32_t)htonl(0xffff));
  LOAD(BPF_W, R5, FRAME, 30);
  STORE(BPF_W, STACK, -4, R5);
  GO(TO_LOOKUP);

  land(&p, TO_IPV6);
  MOVE(R4, FRAME);
  ADD(R4, 62);
  IF_AFTER(R4, END, TO_PASS);
  LOAD(BPF_B, R5, FRAME, 20);
  IF(BPF_JNE, R5, IPPROTO_UDP, TO_PASS);
  LOAD(BPF_H, R5, FRAME, 56);
  IF(BPF_JNE, R5, htons(port), TO_PASS);
  LOAD(BPF_B, R5, FRAME, 22);
  MOVE(R4, R5);
  AND(R4, 0xfe);
  IF(BPF_JEQ, R4, 0xfc, TO_ACCEPTED);
  AND(R5, 0xe0);
  IF(BPF_JNE, R5, 0x20, TO_PASS);
  land(&p, TO_ACCEPTED);
  LOAD(BPF_DW, R5, FRAME, 38);
  STORE(BPF_DW, STACK, -16, R5);
  LOAD(BPF_DW, R5, FRAME, 46);
  STORE(BPF_DW, STACK, -8, R5);

  land(&p, TO_LOOKUP);
  MAP(R1, addresses);
  MOVE(R2, STACK);
  ADD(R2, -16);
  CALL(BPF_FUNC_map_lookup_elem);
  IF(BPF_JEQ, R0, 0, TO_PASS);
  LOAD(BPF_W, R2, CONTEXT, offsetof(struct xdp_md, rx_queue_index));
  MAP(R1, sockets);
  /* For a queue without a socket. */
  SET(R3, XDP_PASS);
  CALL(BPF_FUNC_redirect_map);
  emit(&p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);

  land(&p, TO_PASS);
  SET(R0, XDP_PASS);
  emit(&p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
  return p.count;
}

#endif
