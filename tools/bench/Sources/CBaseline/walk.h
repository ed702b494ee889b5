#ifndef WALK_H
#define WALK_H

#include "baseline.h"

// The SubjectPublicKeyInfo of a DER certificate; 0 when it has none.
int find_spki(const uint8_t *der, size_t length, const uint8_t **start, size_t *size);

// Counts a pin in.
void add_pin(struct baseline_pins *pins, const uint8_t *digest);

// Hashes a key with SHA256_Init and friends and counts it in.
void hash_pin(struct baseline_pins *pins, const uint8_t *key, size_t size);

#endif
