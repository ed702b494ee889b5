/// A format for pins that some system reads. The raw value is the format's name on the command line.
@nonexhaustive
public enum PinDialect: String, Sendable, Hashable, CaseIterable {
    /// This project's policy file.
    case policy
    /// Android's network security config, with TrustKit-Android's elements.
    case android
    /// Apple's NSPinnedDomains in an Info.plist.
    case apple
    /// TrustKit's configuration in a property list.
    case trustkit
    /// OkHttp's CertificatePinner: Kotlin, Java, or the text of its exception.
    case okhttp
    /// Public-Key-Pins (RFC 7469).
    case hpkp
    /// curl's `--pinnedpubkey`.
    case curl
    /// Envoy's validation contexts, in YAML or JSON.
    case envoy
    /// DANE's TLSA records (RFC 6698).
    case tlsa
    /// The authorized keys of Cert Spotter, a monitor of Certificate Transparency logs.
    case certspotter
    /// Swift source with this project's types, as this package writes it. Other Swift can't be read.
    case swift
}
