/// A way to write pins that some system reads. The raw value is what a command line calls it.
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
    /// OkHttp's CertificatePinner: Kotlin, Java, or its exception's text.
    case okhttp
    /// Public-Key-Pins (RFC 7469).
    case hpkp
    /// curl's `--pinnedpubkey`.
    case curl
    /// DANE's TLSA records (RFC 6698).
    case tlsa
    /// Swift source with this project's types. Only written.
    case swift
}

/// What was read, and what is to be known of it.
public struct DialectReading: Sendable {
    /// What the file says.
    public var policy: CanonicalPolicy
    /// What its own system passes over or takes otherwise than it looks.
    public var notes: [ConversionNote]

    /// Makes a reading.
    public init(_ policy: CanonicalPolicy, notes: [ConversionNote] = []) {
        self.policy = policy
        self.notes = notes
    }
}
