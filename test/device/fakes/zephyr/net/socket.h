#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define zsock_pollfd pollfd
#define ZSOCK_POLLIN POLLIN
#define zsock_socket socket
#define zsock_connect connect
#define zsock_send send
#define zsock_recv recv
#define zsock_poll poll
#define zsock_close close
#define zsock_inet_pton inet_pton
