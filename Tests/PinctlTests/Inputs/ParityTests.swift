import PinctlTestPKI
import Testing

/// `pinctl hash` compared with `openssl … | openssl dgst`: both print the same pin, or both reject the input.
@Suite(
    "CL7: pinctl hash equals the openssl pipeline", .serialized,
    .enabled(if: TestCommand.isPresent("openssl", "version")))
struct ParityTests {
    let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    /// The commonly copied pipeline, which reads a DER SubjectPublicKeyInfo from standard input.
    private static let digest = "openssl dgst -sha256 -binary | openssl enc -base64"

    @Test("Both give the same pin for every certificate of the system store")
    func systemStore() async throws {
        let store = "/etc/ssl/certs/ca-certificates.crt"
        guard try await shell("test -r \(store)").status == 0 else {
            print("SKIPPED: no \(store) on this machine")
            return
        }
        let run = try await shell(
            """
            csplit -z -s -n 4 -f c. \(store) '/-----BEGIN CERTIFICATE-----/' '{*}'
            for c in c.*; do
                echo "sha256/$(openssl x509 -in $c -noout -pubkey | openssl pkey -pubin -outform DER | \(Self.digest))"
            done > expected
            pinctl hash \(store) | cut -d ' ' -f 1 > found
            wc -l < found
            diff expected found
            """, in: directory, patience: 300)
        #expect(run.status == 0)
        #expect((Int(run.lines.first ?? "") ?? 0) > 100)
    }

    // Four primes, because finding two of 4096 bits takes a minute.
    static let keys =
        [1024, 2048, 3072, 4096].map { "RSA -pkeyopt rsa_keygen_bits:\($0)" }
        + ["RSA -pkeyopt rsa_keygen_bits:8192 -pkeyopt rsa_keygen_primes:4"]
        + ["P-224", "P-256", "P-384", "P-521", "secp256k1", "brainpoolP256r1"].map {
            "EC -pkeyopt ec_paramgen_curve:\($0)"
        }
        + [
            "ED25519", "ED448", "RSA-PSS -pkeyopt rsa_keygen_bits:2048",
            "EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit",
        ]

    @Test("Both give the same pin for certificates, requests, public and private keys of every kind", arguments: keys)
    func kinds(key: String) async throws {
        try await compare(
            "openssl genpkey -algorithm \(key) -out key.pem", traditional: !key.contains("ED") && !key.contains("PSS"))
    }

    @Test("Both give the same pin for DSA keys")
    func dsa() async throws {
        try await compare(
            """
            openssl genpkey -genparam -algorithm DSA -pkeyopt dsa_paramgen_bits:2048 -out dsa.pem
            openssl genpkey -paramfile dsa.pem -out key.pem
            """, traditional: true)
    }

    @Test("The pin of a key that OpenSSL can't decode is the digest of the bytes that asn1parse locates")
    func unknownKey() async throws {
        var settings = TestCertificate.Settings.server(["api.test"])
        settings.subjectPublicKeyInfo = TestKey.unknownPublicKeyDER()
        let certificate = try TestCertificate.root("Test Root").issue(settings)
        _ = try directory.add(certificate.derBytes, name: "cert.der")
        let run = try await shell(
            """
            openssl x509 -inform DER -in cert.der -noout -pubkey && exit 3
            # Algorithm, issuer, validity, subject, and then the key.
            line=$(openssl asn1parse -inform DER -in cert.der | grep ':d=2 .* cons: SEQUENCE' | sed -n 5p)
            [[ $line =~ ^\\ *([0-9]+):d=2\\ +hl=([0-9]+)\\ +l=\\ *([0-9]+) ]] || exit 4
            tail -c +$((BASH_REMATCH[1] + 1)) cert.der | head -c $((BASH_REMATCH[2] + BASH_REMATCH[3])) | \(Self.digest)
            pinctl hash cert.der
            """, in: directory)
        #expect(run.status == 0)
        #expect(run.lines.count == 2)
        #expect(run.lines.last == "sha256/\(run.lines[0])")
    }

    private func compare(_ generate: String, traditional: Bool) async throws {
        let forms =
            "key.pem key.der pub.pem pub.der cert.pem cert.der csr.pem csr.der" + (traditional ? " old.pem" : "")
        let run = try await shell(
            """
            set -e
            \(generate)
            openssl req -new -x509 -key key.pem -subj /CN=parity -days 30 -out cert.pem
            openssl req -new -key key.pem -subj /CN=parity -out csr.pem
            openssl pkey -in key.pem -pubout -out pub.pem
            openssl pkey -in key.pem -outform DER -out key.der
            openssl pkey -in key.pem -pubout -outform DER -out pub.der
            openssl x509 -in cert.pem -outform DER -out cert.der
            openssl req -in csr.pem -outform DER -out csr.der
            \(traditional ? "openssl pkey -in key.pem -traditional -out old.pem" : "")
            openssl x509 -in cert.pem -noout -pubkey | openssl pkey -pubin -outform DER | \(Self.digest)
            for form in \(forms); do pinctl hash $form; done
            """, in: directory, patience: 300)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.lines.count == 1 + forms.split(separator: " ").count)
        #expect(run.lines.dropFirst().allSatisfy { $0 == "sha256/\(run.lines[0])" }, "\(run.output)")
    }
}
