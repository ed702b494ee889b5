// A verdict service that accepts everything, so that `cost` measures the guard: accept SOCKET
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int count, char **arguments) {
    static unsigned char bytes[1 << 19];
    const unsigned char answer[] = {0, 0, 0, 8, 1, 1, 1, 0, 0, 0, 1, 1};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (count != 2) return 2;
    strcpy(name.sun_path, arguments[1]);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&name, sizeof name) != 0 || listen(listener, 512) != 0) return 1;
    for (int client; (client = accept(listener, NULL, NULL)) >= 0; close(client)) {
        size_t used = 0, wanted = 4;
        for (ssize_t got; used < wanted && (got = read(client, bytes + used, sizeof bytes - used)) > 0;) {
            used += (size_t)got;
            if (used >= 4) wanted = 4 + ((size_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]);
        }
        if (used == wanted && bytes[5] == 1) send(client, answer, sizeof answer, MSG_NOSIGNAL);
    }
}
