package import CertificatePinning
import PinctlBasics

/// The message with which a program reports that it rejected a server, as users paste it from a log.
package struct RejectionMessage: Sendable, Hashable {
    /// The reason for a rejection.
    package enum Cause: String, Sendable, Hashable {
        /// None of the server's keys is pinned.
        case pins
        /// No trusted root is above the certificate, or it is malformed or revoked.
        case untrusted
        /// The certificate isn't valid for the hostname.
        case name
        /// A certificate has expired or isn't valid yet.
        case time
        /// The program or its delegate cancelled the request, and the message doesn't say why.
        case cancelled
    }

    /// The program or library, such as `curl`.
    package let program: String
    package let cause: Cause
    /// The host that was connected to, if the message names it.
    package let host: String?
    /// The server's chain, leaf first, as far as the message has it.
    package let served: [PinningFailureText.Served]
    /// The pins, if the message has them.
    package let pinned: [CanonicalPin]

    /// Parses the most specific message in a log. Returns `nil` if there is none.
    package init?(_ text: String) {
        if let failure = PinningFailureText(text) {
            (program, cause, host) = ("OkHttp", .pins, failure.host)
            (served, pinned) = (failure.served, failure.pinned)
            return
        }
        // Copies of a message in documents have typographic quotes, and so do wget's own.
        let text = text.replacing("\u{2018}", with: "'").replacing("\u{2019}", with: "'")
        let bytes = Array(text.utf8)
        guard let form = MessageForm.all.first(where: { bytes.hasAny(of: $0.marks) }) else { return nil }
        (program, cause) = (form.program, form.cause)
        host = form.host(in: text)
        served = program == "TrustKit" ? Self.trustKitChain(in: text) : Self.openconnectKey(in: text)
        pinned = []
    }

    /// Returns the chain that TrustKit logs: the root first, and each certificate before the digest of its key.
    private static func trustKitChain(in text: String) -> [PinningFailureText.Served] {
        var chain: [PinningFailureText.Served] = []
        var subject = ""
        for line in text.split(whereSeparator: \.isNewline) where chain.count < TextLimits.pins {
            if let name = line.text(behind: "Checking certificate with CN: ") { subject = "CN=\(name)" }
            guard let digest = line.text(behind: "Testing SSL Pin <")?.prefix(while: { $0 != ">" }),
                let value = DigestText(String(digest.filter { $0 != " " }))?.bytes, value.count == 32
            else { continue }
            let pin = CanonicalPin(.publicKey, .sha256, value)
            // The same chain is checked again for each connection.
            guard !chain.contains(where: { $0.pin.value == value }) else { continue }
            chain.append(PinningFailureText.Served(pin: pin, subject: subject))
        }
        return chain.reversed()
    }

    /// Returns the server's key in a message of openconnect.
    private static func openconnectKey(in text: String) -> [PinningFailureText.Served] {
        guard let rest = text[...].text(behind: "match server's certificate: pin-sha256:"),
            let pin = OkHttpPin.pin("sha256/" + rest.prefix { !$0.isWhitespace })
        else { return [] }
        return [PinningFailureText.Served(pin: pin, subject: "")]
    }
}

/// A form of messages: the program, the cause, and the texts by which they are recognized.
private struct MessageForm: Sendable {
    let program: String
    let cause: RejectionMessage.Cause
    let marks: [String]
    /// The texts before the host in messages of this form.
    var hosts: [String] = []

    /// The forms of all programs, the most specific one first: many programs report a mismatch in a line before the one
    /// that says that the request failed.
    static let all = [
        MessageForm(
            program: "TrustKit", cause: .pins, marks: ["Pin validation failed for ", "SSL Pin not found for "],
            hosts: ["Pin validation failed for ", "SSL Pin not found for "]),
        MessageForm(program: "Android", cause: .pins, marks: ["Pin verification failed"]),
        MessageForm(
            program: "git", cause: .pins,
            marks: ["with http.pinnedPubkey configuration: SSL: public key does not match pinned public key"],
            hosts: ["unable to access 'https://"]),
        MessageForm(
            program: "wget", cause: .pins, marks: ["The public key does not match pinned public key!"]),
        MessageForm(
            program: "curl", cause: .pins, marks: ["SSL: public key does not match pinned public key", "curl: (90)"]),
        MessageForm(
            program: "openconnect", cause: .pins, marks: ["fingerprint(s) specified via --servercert match server's"],
            hosts: ["SSL negotiation with ", "Connected to HTTPS on "]),
        MessageForm(
            program: "Cronet", cause: .pins,
            marks: ["ERR_SSL_PINNED_KEY_NOT_IN_CERT_CHAIN", "CronetInternalErrorCode=-150"]),
        MessageForm(program: "Envoy", cause: .pins, marks: ["verify cert failed: cert hash and spki"]),
        MessageForm(program: "aiohttp", cause: .pins, marks: ["ServerFingerprintMismatch"], hosts: ["host='"]),
        MessageForm(
            program: "urllib3", cause: .pins, marks: ["Fingerprints did not match. Expected"], hosts: ["host='"]),
        MessageForm(
            program: "http_certificate_pinning", cause: .pins, marks: ["CONNECTION_NOT_SECURE"]),
        // Names.
        MessageForm(program: "OkHttp", cause: .name, marks: [" not verified:"], hosts: ["Hostname "]),
        MessageForm(
            program: "curl", cause: .name,
            marks: [
                "no alternative certificate subject name matches target", " does not match target host name '",
            ], hosts: ["matches target host name '", "matches target hostname '", "match target host name '"]),
        MessageForm(
            program: "wget", cause: .name,
            marks: [
                "no certificate subject alternative name matches", "The certificate's owner does not match hostname",
            ], hosts: ["requested host name '", "does not match hostname '"]),
        MessageForm(
            program: "Node.js", cause: .name, marks: ["ERR_TLS_CERT_ALTNAME_INVALID", "altnames: Host: "],
            hosts: ["altnames: Host: "]),
        MessageForm(program: "Go", cause: .name, marks: ["x509: certificate is valid for "], hosts: [", not "]),
        MessageForm(program: "Cronet", cause: .name, marks: ["ERR_CERT_COMMON_NAME_INVALID"]),
        MessageForm(
            program: "Python", cause: .name, marks: ["certificate is not valid for '"], hosts: ["is not valid for '"]),
        // Times.
        MessageForm(
            program: "curl", cause: .time,
            marks: [
                "SSL certificate problem: certificate has expired",
                "SSL certificate problem: certificate is not yet valid",
            ]),
        MessageForm(program: "Go", cause: .time, marks: ["x509: certificate has expired or is not yet valid"]),
        MessageForm(program: "Cronet", cause: .time, marks: ["ERR_CERT_DATE_INVALID"]),
        MessageForm(program: "Node.js", cause: .time, marks: ["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]),
        MessageForm(
            program: "URLSession", cause: .time,
            marks: ["NSURLErrorDomain Code=-1201", "NSURLErrorDomain Code=-1204"], hosts: urlErrorHosts),
        MessageForm(
            program: "a program with OpenSSL", cause: .time,
            marks: ["certificate has expired", "certificate is not yet valid", "CERTIFICATE_EXPIRED"], hosts: ["host='"]
        ),
        // Trust.
        MessageForm(
            program: "TrustKit", cause: .untrusted, marks: ["default SSL validation failed for "],
            hosts: ["default SSL validation failed for "]),
        MessageForm(
            program: "Android", cause: .untrusted, marks: ["Trust anchor for certification path not found"]),
        MessageForm(
            program: "Java", cause: .untrusted, marks: ["unable to find valid certification path to requested target"]),
        MessageForm(
            program: "Go", cause: .untrusted, marks: ["x509: certificate signed by unknown authority", "x509: "]),
        MessageForm(
            program: "Cronet", cause: .untrusted, marks: ["ERR_CERT_AUTHORITY_INVALID", "ERR_CERT_INVALID"]),
        MessageForm(
            program: "URLSession", cause: .untrusted,
            marks: [
                "NSURLErrorDomain Code=-1202", "NSURLErrorDomain Code=-1203",
                "The certificate for this server is invalid",
            ], hosts: urlErrorHosts),
        MessageForm(
            program: "Node.js", cause: .untrusted,
            marks: [
                "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "SELF_SIGNED_CERT_IN_CHAIN", "DEPTH_ZERO_SELF_SIGNED_CERT",
                "UNABLE_TO_GET_ISSUER_CERT",
            ]),
        MessageForm(
            program: "wget", cause: .untrusted, marks: ["ERROR: cannot verify ", "ERROR: The certificate of '"],
            hosts: ["cannot verify ", "The certificate of '"]),
        MessageForm(
            program: "git", cause: .untrusted, marks: ["server certificate verification failed. CAfile:"],
            hosts: ["unable to access 'https://"]),
        MessageForm(
            program: "curl", cause: .untrusted, marks: ["SSL certificate problem: ", "curl: (60)"],
            hosts: ["unable to access 'https://"]),
        MessageForm(
            program: "a program with OpenSSL or BoringSSL", cause: .untrusted,
            marks: ["CERTIFICATE_VERIFY_FAILED", "certificate verify failed"], hosts: ["host='"]),
        MessageForm(
            program: "URLSession", cause: .cancelled, marks: ["NSURLErrorDomain Code=-999"], hosts: urlErrorHosts),
    ]

    private static let urlErrorHosts = [
        "NSErrorFailingURLStringKey=https://", "NSErrorFailingURLKey=https://", "pretending to be \u{201C}",
    ]

    /// Returns the host in a message: behind the texts of this form, or else in the first URL.
    func host(in text: String) -> String? {
        for before in hosts + ["https://"] {
            var rest = text[...]
            while let behind = rest.text(behind: before) {
                let name = behind.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "-._[]:".contains($0)) }
                // The sentence goes on behind a host and a dot.
                var host = name.drop { $0 == "[" }.prefix { $0 != "]" }
                if host.filter({ $0 == ":" }).count == 1 { host = host.prefix { $0 != ":" } }
                while host.last == "." || host.last == ":" { host = host.dropLast() }
                if let first = host.first, first.isLetter || first.isNumber || first == ":" { return String(host) }
                rest = behind
            }
        }
        return nil
    }
}

extension Substring {
    /// Returns the text that follows the first occurrence of `text`, or `nil` if there is none.
    func text(behind text: String) -> Substring? {
        firstRange(of: text).map { self[$0.upperBound...] }
    }
}
