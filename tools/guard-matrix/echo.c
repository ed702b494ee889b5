// A server that returns each frame's answer without a judgement, as the base of `rate`: echo SOCKET
// One thread waits for sockets with epoll, as the service does.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct client { int descriptor; size_t used; unsigned char bytes[1 << 16]; };

static void serve(int set, struct client *client) {
    const unsigned char answer[] = {0, 0, 0, 8, 1, 1, 1, 0, 0, 0, 1, 1};
    for (ssize_t got; (got = recv(client->descriptor, client->bytes + client->used, sizeof client->bytes - client->used,
                                  MSG_DONTWAIT)) >= 0;) {
        client->used += (size_t)got;
        unsigned char *at = client->bytes;
        size_t wanted = 4 + ((size_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]);
        if (got == 0) {
            epoll_ctl(set, EPOLL_CTL_DEL, client->descriptor, NULL);
            close(client->descriptor);
            free(client);
            return;
        }
        if (client->used < 4 || client->used < wanted) continue;
        send(client->descriptor, answer, sizeof answer, MSG_NOSIGNAL);
        memmove(at, at + wanted, client->used -= wanted);
    }
}

int main(int count, char **arguments) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct epoll_event events[64], listening = {.events = EPOLLIN, .data.ptr = NULL};
    if (count != 2) return 2;
    strcpy(name.sun_path, arguments[1]);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), set = epoll_create1(0);
    if (bind(listener, (struct sockaddr *)&name, sizeof name) != 0 || listen(listener, 512) != 0) return 1;
    epoll_ctl(set, EPOLL_CTL_ADD, listener, &listening);
    puts("ready");
    fflush(stdout);
    for (;;) {
        int ready = epoll_wait(set, events, 64, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr != NULL) {
                serve(set, events[i].data.ptr);
                continue;
            }
            struct client *client = calloc(1, sizeof *client);
            client->descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
            struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = client};
            epoll_ctl(set, EPOLL_CTL_ADD, client->descriptor, &event);
        }
    }
}
