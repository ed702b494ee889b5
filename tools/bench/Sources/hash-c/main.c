// The pin of one PEM certificate in the least C that does it with OpenSSL: what `pinctl hash` is measured against.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <stdio.h>

int main(int count, char **arguments) {
    unsigned char *key = NULL, digest[SHA256_DIGEST_LENGTH], text[45];
    BIO *file = count == 2 ? BIO_new_file(arguments[1], "r") : NULL;
    X509 *certificate = file ? PEM_read_bio_X509(file, NULL, NULL, NULL) : NULL;
    int size = certificate ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key) : 0;
    if (size <= 0) return 2;
    SHA256(key, size, digest);
    EVP_EncodeBlock(text, digest, sizeof digest);
    printf("sha256/%s\n", text);
    return 0;
}
