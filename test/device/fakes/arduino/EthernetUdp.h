// EthernetUDP over a POSIX socket. Packets to 192.0.2.53 port 53 go to 127.0.0.1 and the port in the variable DNS_PORT.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "Udp.h"

class EthernetUDP : public UDP {
  int s = -1;
  uint8_t packet[2048];
  size_t size = 0;

 public:
  uint8_t begin(uint16_t port) override {
    struct sockaddr_in self = {};
    self.sin_family = AF_INET;
    self.sin_port = htons(port);
    s = socket(AF_INET, SOCK_DGRAM, 0);
    fcntl(s, F_SETFL, O_NONBLOCK);
    return bind(s, (struct sockaddr *)&self, sizeof self) == 0 ? 1 : 0;
  }
  void stop() override { close(s); }
  int beginPacket(IPAddress, uint16_t) override { size = 0; return 1; }
  size_t write(const uint8_t *buffer, size_t length) override {
    memcpy(packet + size, buffer, length);
    size += length;
    return length;
  }
  int endPacket() override {
    struct sockaddr_in server = {};
    server.sin_family = AF_INET;
    server.sin_port = htons((uint16_t)atoi(getenv("DNS_PORT")));
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return sendto(s, packet, size, 0, (struct sockaddr *)&server, sizeof server) == (ssize_t)size ? 1 : 0;
  }
  int parsePacket() override {
    const ssize_t got = recv(s, packet, sizeof packet, 0);
    size = got > 0 ? (size_t)got : 0;
    return (int)size;
  }
  int read(unsigned char *buffer, size_t length) override {
    const size_t have = size < length ? size : length;
    memcpy(buffer, packet, have);
    return (int)have;
  }
  IPAddress remoteIP() override { return IPAddress(192, 0, 2, 53); }
  uint16_t remotePort() override { return 53; }
};
