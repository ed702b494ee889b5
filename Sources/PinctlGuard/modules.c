// Finds the functions after ours, and the copies of OpenSSL in this process.
#define _GNU_SOURCE
#include "guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(struct library *) libraries;
static _Atomic(struct site *) sites[1024];

// The dlsym after ours. Calls of it are looked up from this library.
void *(*next_dlsym(void))(void *, const char *) {
    static _Atomic(void *(*)(void *, const char *)) cached;
    void *(*next)(void *, const char *) = atomic_load(&cached);
    const char *versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    for (int i = 0; next == NULL && i < 3; i++) atomic_store(&cached, next = dlvsym(RTLD_NEXT, "dlsym", versions[i]));
    return next;
}

void *next_function(int which) {
#define NAME_OF(name) #name,
    static const char *const names[] = {SINGLE(NAME_OF)};
    static _Atomic(void *) functions[count_of_next];
    void *next = atomic_load(&functions[which]);
    if (next == NULL) atomic_store(&functions[which], next = find(RTLD_NEXT, names[which]));
    return next;
}

void *find(void *module, const char *name) { return next_dlsym()(module, name); }

struct search {
    uintptr_t code;
    const void *base;
    const char *name;
};

static int has_code(struct dl_phdr_info *module, size_t size, void *data) {
    struct search *search = data;
    (void)size;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
        uintptr_t start = module->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || search->code < start || search->code - start >= segment->p_memsz) continue;
        search->base = module->dlpi_phdr;
        search->name = module->dlpi_name;
        return 1;
    }
    return 0;
}

// Returns the module that contains an address, which stays loaded from then on. `base` is an address that only it has.
// Not by dladdr, which looks for the symbol among all of the module.
void *module_of(const void *code, const void **base) {
    struct search search = {.code = (uintptr_t)code};
    *base = NULL;
    if (code == NULL || dl_iterate_phdr(has_code, &search) == 0) return NULL;
    *base = search.base;
    return dlopen(search.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static struct library *known_library(const void *base) {
    struct library *library = atomic_load(&libraries);
    while (library != NULL && library->base != base) library = library->next;
    return library;
}

static struct library incomplete;  // For want of memory: no SSL can be made.

// Returns the functions of the copy of OpenSSL that a module is linked with, or NULL if there is none. Its version is
// checked, because LibreSSL and OpenSSL 1.0 number the classes of CRYPTO_new_ex_data otherwise.
static struct library *library_of(void *module) {
    const void *base, *own;
    void *function = module != NULL ? find(module, "SSL_get_ex_data") : NULL;
    if (function == NULL) function = find(RTLD_DEFAULT, "SSL_get_ex_data");
    void *handle = module_of(function, &base);
    struct library *library = known_library(base);
    if (function == NULL || library != NULL) return library;
    if (handle == NULL) return &incomplete;
    unsigned long (*version)(void) = find(handle, "OpenSSL_version_num");
    if (version == NULL || version() < 0x10100000 || version() == 0x20000000) return NULL;
    library = calloc(1, sizeof *library);
    if (library == NULL) return &incomplete;
    library->base = base;
    library->is_complete = true;
#define LOAD(type, name, parameters) *(void **)&library->name = find(handle, #name);
#define REQUIRE(type, name, parameters) LOAD(type, name, parameters) library->is_complete &= library->name != NULL;
    FUNCTIONS(REQUIRE, LOAD)
    module_of((void *)library->SSL_CTX_set_info_callback, &base);
    module_of((void *)library_of, &own);
    library->is_complete = library->is_complete && base != own && prepare(library);
    library->next = atomic_load(&libraries);
    while (!atomic_compare_exchange_weak(&libraries, &library->next, library))
        if (known_library(library->base) != NULL) break;  // Another thread's. What this one registered stays unused.
    return known_library(library->base);
}

// Returns what is known about a call. Doesn't lock, because the caller may hold the loader's lock.
struct site *site_of(const void *caller, const char *name) {
    static _Thread_local struct site spare;
    size_t slot = (((uintptr_t)caller ^ (uintptr_t)name >> 3) * 0x9E3779B9u >> 12) % 1024, probes = 0;
    struct site *site;
    for (; probes < 16 && (site = atomic_load(&sites[(slot + probes) % 1024])) != NULL; probes++)
        if (site->caller == caller && site->name == name) return site;
    int error = errno;
    const void *base, *own;
    site = malloc(sizeof *site);
    if (site == NULL || probes == 16) {
        free(site);
        site = &spare;
    }
    void *module = module_of(caller, &base);
    site->caller = caller;
    site->name = name;
    site->library = strncmp(name, "gnutls", 6) == 0 ? NULL : library_of(module);
    bool is_unknown = module == NULL && base != NULL;
    if (is_unknown) site->library = &incomplete;
    site->in_library = site->library == &incomplete || (site->library != NULL && site->library->base == base);
    // First among what the caller is linked with. In the program itself, that may be our function.
    site->next = module != NULL ? find(module, name) : NULL;
    module_of((void *)site_of, &own);
    module_of(site->next, &base);
    if (base == own) site->next = NULL;
    if (site->next == NULL) site->next = find(RTLD_NEXT, name);
    // The caller found our function by dlsym, or is another preloaded library.
    const char *known[] = {"libssl.so.3", "libssl.so.1.1", "libgnutls.so.30"};
    for (int i = 0; site->next == NULL && i < 3; i++) {
        module = dlopen(known[i], RTLD_LAZY | RTLD_NOLOAD);
        if (module != NULL) site->next = find(module, name);
        if (module != NULL && site->library == NULL && i < 2) site->library = library_of(module);
    }
    struct site *empty = NULL;
    if (site->library == &incomplete && site != &spare) {
        spare = *site;  // Looked for again next time.
        free(site);
        site = &spare;
    }
    if (site != &spare) atomic_compare_exchange_strong(&sites[(slot + probes) % 1024], &empty, site);
    errno = error;
    return site;
}
