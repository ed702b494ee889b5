import CPinctlOpenSSL
import PinctlLibC

/// The library context (`OSSL_LIB_CTX`) in which certificates are parsed and verified and TLS connections are made.
///
/// OpenSSL 3.0 and 3.1 try each decoder they know for the key of every certificate, which costs several times as much
/// as verifying its signature. A context whose provider is the default one with only the decoders of public keys gives
/// the same keys in a quarter of the time. Later versions remember the decoder, and use OpenSSL's default context.
///
/// A context of our own doesn't read the system's configuration. So the default one is also used if that configures
/// more than TLS, or if the default provider isn't the only one that is active, as on a system with FIPS. This is
/// decided when the first certificate is parsed or the first connection is made. A program that configures OpenSSL
/// itself does so before. Only a later requirement of FIPS is noticed, for what is created from then on.
enum LibraryContext {
    /// The context to use now. Nil is OpenSSL's default context.
    static var pointer: OpaquePointer? {
        guard let context = unsafe shared.pointer, EVP_default_properties_is_fips_enabled(nil) != 1 else { return nil }
        return unsafe context
    }

    private static let shared = KeyDecoderContext()

    /// Unchecked Sendable: the context isn't changed after `init`, and lives until the process ends.
    @safe private struct KeyDecoderContext: @unchecked Sendable {
        let pointer: OpaquePointer?

        init() {
            OpenSSLError.clear()
            defer { OpenSSLError.clear() }
            let isSlow = OPENSSL_version_major() == 3 && OPENSSL_version_minor() < 2
            let isUsed = isSlow && LibraryContext.hasOnlyDefaultProvider && LibraryContext.isConfiguredLikeDefault
            unsafe pointer = isUsed ? COpenSSL_new_context_with_key_decoders() : nil
        }
    }

    /// Whether the default context has the default provider and no other (`OSSL_PROVIDER_do_all`). If a provider of the
    /// configuration can't be loaded, it has none.
    private static var hasOnlyDefaultProvider: Bool {
        // This loads the configuration. `OSSL_PROVIDER_available` as the first call would activate the default provider
        // before.
        let isCalledForAll = unsafe OSSL_PROVIDER_do_all(
            nil,
            { provider, _ in
                guard let provider = unsafe provider,
                    let name = unsafe OSSL_PROVIDER_get0_name(provider)
                else { return 0 }
                return unsafe String(cString: name) == "default" ? 1 : 0
            }, nil)
        return unsafe isCalledForAll == 1 && OSSL_PROVIDER_available(nil, "default") == 1
    }

    /// Whether OpenSSL's configuration file has none but sections that don't affect which algorithms there are, or that
    /// ``hasOnlyDefaultProvider`` and TLS contexts take into account. A missing file configures nothing.
    private static var isConfiguredLikeDefault: Bool {
        guard let path = unsafe CONF_get1_default_config_file() else { return false }
        defer { unsafe COpenSSL_free(path) }
        // Anything else than a file, such as a pipe, may give its contents only once.
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return errno == ENOENT }
        guard status.st_mode & S_IFMT == S_IFREG, let file = unsafe BIO_new_file(path, "r") else { return false }
        defer { unsafe BIO_free(file) }
        guard let configuration = unsafe NCONF_new(nil) else { return false }
        defer { unsafe NCONF_free(configuration) }
        var line = 0
        guard unsafe NCONF_load_bio(configuration, file, &line) == 1 else { return false }
        guard let section = unsafe NCONF_get_string(configuration, nil, "openssl_conf") else { return true }
        let modules = unsafe NCONF_get_section(configuration, section)
        return (0..<max(unsafe COpenSSL_sk_CONF_VALUE_num(modules), 0)).allSatisfy { index in
            guard let module = unsafe COpenSSL_sk_CONF_VALUE_value(modules, index)?.pointee.name else { return false }
            return unsafe ["oid_section", "providers", "ssl_conf"].contains(String(cString: module))
        }
    }
}
