import CertificateTrust

/// What a contender computed: how many pins, and a hash of their first bytes in order.
struct Pins: Equatable, CustomStringConvertible {
    var count = 0
    var check: UInt64 = 0

    mutating func add(_ fingerprint: SPKIFingerprint) {
        count += 1
        check = check &* 31 &+ UInt64(fingerprint.bytes[0])
    }

    var description: String { "\(count) pins, check \(check)" }
}

/// Swift's way from DER.
func swiftPins(_ certificates: Corpus) throws -> Pins {
    var pins = Pins()
    var start = 0
    for end in certificates.ends {
        pins.add(try SPKIFingerprint(ofCertificate: certificates.bytes.span.extracting(start..<end)))
        start = end
    }
    return pins
}

/// Swift's way through a PEM file.
func swiftPins(_ path: String) throws -> Pins {
    var pins = Pins()
    try CertificateFile.forEachFingerprint(in: path) { pins.add($0) }
    return pins
}
