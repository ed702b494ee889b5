// libFuzzer's entry point for programs with a main function of their own. No header in the toolchain declares it.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer with its command line. Returns its exit status, unless it ends the process itself.
int LLVMFuzzerRunDriver(int *_Nonnull argc, char *_Nullable *_Nonnull *_Nonnull argv,
                        int (*_Nonnull run)(const uint8_t *_Nullable data, size_t size));
