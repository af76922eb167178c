/*
 * Reads a record and writes its data to standard output, as they are.
 *
 *   cc -std=c99 -I.. -o example example.c
 *   ./example SERVER PORT KEY [TOKEN]         the zone is uqrp.net, or that of the variable UQRP_ZONE
 *
 * Exit code 0 with a record, 1 with another result, which is written to standard error, 2 when it is called wrongly.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "sockets.h"

int main(int argc, char **argv) {
  static uint8_t reply[UQRP_TCP_ROOM];
  struct uqrp_record record;
  enum uqrp_result result;
  const char *const zone = getenv("UQRP_ZONE");
  struct addrinfo *server;
  uint8_t query[UQRP_QUERY_ROOM];
  int came;
  if (argc < 4 || argc > 5) {
    fprintf(stderr, "usage: example SERVER PORT KEY [TOKEN]\n");
    return 2;
  }
  server = find_server(argv[1], argv[2]);
  if (server == NULL) {
    fprintf(stderr, "no address of the server %s port %s\n", argv[1], argv[2]);
    return 2;
  }
  if (uqrp_query(query, sizeof query, 0, argv[3], argv[4], zone != NULL ? zone : "uqrp.net", 0) == 0) {
    fprintf(stderr, "no name is possible for this key, token and zone\n");
    freeaddrinfo(server);
    return 2;
  }
  came = ask(server, argv[3], argv[4], zone != NULL ? zone : "uqrp.net", reply, sizeof reply, &record, &result, NULL, NULL);
  freeaddrinfo(server);
  if (came && result == UQRP_OK) {
    /* Answers of public services are fields only. */
    if (record.data != NULL) fwrite(record.data, 1, record.size, stdout);
    else fwrite(record.fields, 1, record.fields_size, stdout);
    if (isatty(1)) printf("\n");
    return fflush(stdout) == 0 ? 0 : 1;
  }
  fprintf(stderr, "%s\n", came ? uqrp_result_name(result) : "no reply");
  return 1;
}
