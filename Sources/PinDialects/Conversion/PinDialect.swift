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
    /// DANE's TLSA records (RFC 6698).
    case tlsa
    /// Swift source with this project's types. It can only be written.
    case swift
}

/// The result of reading a file.
public struct DialectReading: Sendable {
    /// The policy that the file contains.
    public var policy: CanonicalPolicy
    /// Notes on settings that the dialect's own system ignores, or reads differently from how they look.
    public var notes: [ConversionNote]

    /// Creates a reading.
    public init(_ policy: CanonicalPolicy, notes: [ConversionNote] = []) {
        self.policy = policy
        self.notes = notes
    }
}
