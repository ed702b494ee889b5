import CertificateTrust

/// Pins from DER: the library against OpenSSL's own route and against SHA-256 alone on the same bytes.
func pinsFromDER(_ name: String, _ file: String, _ report: inout Report) throws {
    let certificates = try CertificateFile.read(file)
    let ders = Corpus(certificates.map(\.derBytes))
    let keys = Corpus(certificates.map(\.subjectPublicKeyInfo.derBytes))
    let times = try contest(
        [
            Contender("SHA-256 alone, C") { hashedKeys(keys) },
            Contender("DER walk and SHA-256, Swift") { try swiftPins(ders) },
            Contender("d2i_X509, i2d_X509_PUBKEY, EVP, C") { openSSLPins(ders) },
        ], pieces: certificates.count)
    report.heading(
        "Pin of a DER certificate: \(name), \(ders.bytes.count / certificates.count) bytes, "
            + "the key \(keys.bytes.count / certificates.count)")
    report.row(times[0].name, time(times[0].median))
    report.row(
        times[1].name, time(times[1].median),
        Target(measured: times[0].ratio(to: times[1]), unit: "of SHA-256 alone", bound: .atLeast, limit: 0.7))
    report.row(times[2].name, time(times[2].median), "\(decimal(times[2].ratio(to: times[1]), 0)) times Swift")
}

/// Pins through a PEM file: the library against a plain C loop.
func pinsFromPEM(_ name: String, _ file: String, _ report: inout Report) throws {
    let count = try swiftPins(file).count
    let times = try contest(
        [
            Contender("chunks, table base64, walk, C") { plainLoopPins(file) },
            Contender("CertificateFile, Swift") { try swiftPins(file) },
        ], pieces: count)
    report.heading("Pin of a certificate in a PEM file: \(name), \(count) in the file")
    report.row(times[0].name, time(times[0].median))
    report.row(
        times[1].name, time(times[1].median),
        Target(measured: times[0].ratio(to: times[1]), unit: "of the C loop", bound: .atLeast, limit: 0.85))
}
