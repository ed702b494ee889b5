// The part of GSSAPI's C binding (RFC 2744) that a client needs: types and function pointers. The library is loaded at
// run time, so its headers aren't needed for building.
#ifndef CLINUX_GSSAPI_H
#define CLINUX_GSSAPI_H

#include <stddef.h>
#include <stdint.h>

// Apple's structures are packed on Intel, as they were for 32 bits.
#if defined(__APPLE__) && defined(__x86_64__)
#pragma pack(push, 2)
#endif

// gss_buffer_desc
typedef struct CLinux_gss_buffer {
    size_t length;
    void *value;
} CLinux_gss_buffer;

// gss_OID_desc
typedef struct CLinux_gss_oid {
    uint32_t length;
    void *elements;
} CLinux_gss_oid;

// gss_OID_set_desc
typedef struct CLinux_gss_oid_set {
    size_t count;
    CLinux_gss_oid *elements;
} CLinux_gss_oid_set;

// gss_channel_bindings_struct
typedef struct CLinux_gss_bindings {
    uint32_t initiator_addrtype;
    CLinux_gss_buffer initiator_address;
    uint32_t acceptor_addrtype;
    CLinux_gss_buffer acceptor_address;
    CLinux_gss_buffer application_data;
} CLinux_gss_bindings;

#if defined(__APPLE__) && defined(__x86_64__)
#pragma pack(pop)
#endif

typedef uint32_t (*CLinux_gss_import_name)(uint32_t *, CLinux_gss_buffer *, CLinux_gss_oid *, void **);
typedef uint32_t (*CLinux_gss_release_name)(uint32_t *, void **);
typedef uint32_t (*CLinux_gss_acquire_cred)(
    uint32_t *, void *, uint32_t, CLinux_gss_oid_set *, int, void **, CLinux_gss_oid_set **, uint32_t *);
typedef uint32_t (*CLinux_gss_acquire_cred_with_password)(
    uint32_t *, void *, CLinux_gss_buffer *, uint32_t, CLinux_gss_oid_set *, int, void **, CLinux_gss_oid_set **,
    uint32_t *);
typedef uint32_t (*CLinux_gss_set_neg_mechs)(uint32_t *, void *, CLinux_gss_oid_set *);
typedef uint32_t (*CLinux_gss_release_cred)(uint32_t *, void **);
typedef uint32_t (*CLinux_gss_init_sec_context)(
    uint32_t *, void *, void **, void *, CLinux_gss_oid *, uint32_t, uint32_t, CLinux_gss_bindings *,
    CLinux_gss_buffer *, CLinux_gss_oid **, CLinux_gss_buffer *, uint32_t *, uint32_t *);
typedef uint32_t (*CLinux_gss_delete_sec_context)(uint32_t *, void **, CLinux_gss_buffer *);
typedef uint32_t (*CLinux_gss_release_buffer)(uint32_t *, CLinux_gss_buffer *);
typedef uint32_t (*CLinux_gss_display_status)(
    uint32_t *, uint32_t, int, CLinux_gss_oid *, uint32_t *, CLinux_gss_buffer *);

#endif
