// Fetches a page from a server that the verdict service accepts: client SOCKET HOST PORT CA-FILE
//
// Copy judge, and call it after SSL_connect and before SSL_write. Build: cc client.c -lssl -lcrypto
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static unsigned char *put(unsigned char *at, int kind, const void *value, uint32_t length) {
    uint32_t size = htonl(length);
    *at = (unsigned char)kind;
    memcpy(at + 1, &size, 4);
    memcpy(at + 5, value, length);
    return at + 5 + length;
}

// Returns 1 if the service at `path` accepts the server. Everything else is a refusal, and prints the reason, if any.
static int judge(SSL *ssl, const char *path, const char *host, int port) {
    static unsigned char frame[4 + 262144] = {0, 0, 0, 0, 1, 1}, answer[4096];
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    unsigned char *end = put(frame + 6, 1, host, (uint32_t)strlen(host)), bytes[2] = {port >> 8 & 255, port & 255};
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    end = put(end, 2, bytes, 2);
    for (int i = 0; i < sk_X509_num(chain); i++) {
        unsigned char *der = NULL;
        int length = i2d_X509(sk_X509_value(chain, i), &der);
        int fits = length > 0 && length < frame + sizeof frame - end - 5;
        if (fits) end = put(end, 4, der, (uint32_t)length);
        OPENSSL_free(der);
        if (!fits) return 0;
    }
    uint32_t size = htonl((uint32_t)(end - frame - 4)), verdict = 0, seen = 0;
    memcpy(frame, &size, 4);
    if (strlen(path) >= sizeof name.sun_path) return 0;
    strcpy(name.sun_path, path);
    int service = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {10, 0};
    // Each limit is that of all bytes together.
    setsockopt(service, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(service, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    int is_whole = connect(service, (struct sockaddr *)&name, sizeof name) == 0 &&
                   send(service, frame, (size_t)(end - frame), MSG_NOSIGNAL) == end - frame &&
                   recv(service, &size, 4, MSG_WAITALL) == 4 && (size = ntohl(size)) >= 2 && size <= sizeof answer &&
                   recv(service, answer, size, MSG_WAITALL) == (ssize_t)size;
    close(service);
    if (!is_whole || answer[0] != 1 || answer[1] != 1) return fprintf(stderr, "no verdict\n"), 0;
    for (uint32_t at = 2, length; at < size; at += 5 + length) {
        if (size - at < 5) return 0;
        memcpy(&length, answer + at + 1, 4);
        length = ntohl(length);
        if (answer[at] < 1 || answer[at] > 3 || seen & 1u << answer[at] || length > size - at - 5) return 0;
        seen |= 1u << answer[at];
        if (answer[at] == 1) verdict = length == 1 && answer[at + 5] == 1;
        if (answer[at] == 2 && seen & 2 && !verdict) fprintf(stderr, "refused: %.*s\n", (int)length, answer + at + 5);
    }
    return verdict == 1;
}

int main(int count, char **words) {
    char address[300], text[1000], *request = "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n";
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (count != 5 || SSL_CTX_load_verify_locations(context, words[4], NULL) != 1) return 2;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    BIO *bio = BIO_new_ssl_connect(context);
    SSL *ssl;
    BIO_get_ssl(bio, &ssl);
    snprintf(address, sizeof address, "%s:%s", words[2], words[3]);
    if (SSL_set_tlsext_host_name(ssl, words[2]) != 1 || SSL_set1_host(ssl, words[2]) != 1) return 2;
    if (BIO_set_conn_hostname(bio, address) != 1 || BIO_do_handshake(bio) != 1) return 1;
    if (judge(ssl, words[1], words[2], atoi(words[3])) != 1) return 1;
    BIO_puts(bio, request);
    for (int length; (length = BIO_read(bio, text, sizeof text)) > 0;) fwrite(text, 1, (size_t)length, stdout);
    return 0;
}
