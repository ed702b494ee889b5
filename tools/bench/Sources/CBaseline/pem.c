#define _GNU_SOURCE
#include "walk.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

// Six bits for a character of the alphabet, 64 or more for all others.
static uint8_t table[256];

__attribute__((constructor)) static void fill_table(void) {
    const char *alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    memset(table, 64, sizeof table);
    for (int i = 0; i < 64; i++) table[(uint8_t)alphabet[i]] = i;
}

// Decodes what stands in front of the next dash, at most `room` bytes; `*position` ends at the dash or at `end`.
static size_t decode(const uint8_t **position, const uint8_t *end, uint8_t *out, size_t room) {
    const uint8_t *p = *position, *start = out, *limit = out + room - 3;
    uint32_t group = 0;
    int count = 0;
    while (p < end && *p != '-' && out <= limit) {
        while (count == 0 && end - p >= 4 && out <= limit) {
            uint8_t a = table[p[0]], b = table[p[1]], c = table[p[2]], d = table[p[3]];
            if ((a | b | c | d) >= 64) break;
            *out++ = a << 2 | b >> 4;
            *out++ = b << 4 | c >> 2;
            *out++ = c << 6 | d;
            p += 4;
        }
        if (p == end || *p == '-') break;
        uint8_t value = table[*p++];
        if (value >= 64) continue;
        group = group << 6 | value;
        if (++count == 4) {
            *out++ = group >> 16;
            *out++ = group >> 8;
            *out++ = group;
            group = count = 0;
        }
    }
    if (count == 2) *out++ = group >> 4;
    if (count == 3) {
        *out++ = group >> 10;
        *out++ = group >> 2;
    }
    *position = p;
    return out - start;
}

// Works through the blocks that are whole; returns how many bytes of the text they end at.
static size_t blocks(const uint8_t *text, size_t length, struct baseline_pins *pins) {
    static const char begin[] = "-----BEGIN CERTIFICATE-----";
    static uint8_t der[1 << 16];
    const uint8_t *p = text, *end = text + length, *done = text;
    while ((p = memmem(p, end - p, begin, sizeof begin - 1)) != NULL) {
        p += sizeof begin - 1;
        const uint8_t *key;
        size_t size = decode(&p, end, der, sizeof der);
        if (p == end) break;
        if (find_spki(der, size, &key, &size)) hash_pin(pins, key, size);
        done = p;
    }
    return done - text;
}

struct baseline_pins baseline_spki_pem(const char *path) {
    static uint8_t buffer[256 << 10];
    struct baseline_pins pins = {0, 0};
    size_t kept = 0;
    ssize_t count;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && (count = read(file, buffer + kept, sizeof buffer - kept)) > 0) {
        size_t done = blocks(buffer, kept + count, &pins);
        kept += count - done;
        memmove(buffer, buffer + done, kept);
    }
    if (file >= 0) close(file);
    return pins;
}
