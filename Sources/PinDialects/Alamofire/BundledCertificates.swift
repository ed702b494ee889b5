import CertificateTrust
import PinctlBasics

/// The certificates that an app's bundle has: the files of the project that Alamofire takes for certificates.
///
/// Which of them a build puts into the bundle isn't known, so all count.
struct BundledCertificates {
    struct File {
        let path: String
        /// The last part of the path, such as `api.cer`.
        let name: String
        let certificate: X509Certificate
    }

    /// The reason why the certificates aren't known.
    struct Failure: Error {
        let message: String
    }

    /// The expressions for all certificates or keys of the bundle.
    private static let everything = [
        "Bundle.main.af.certificates", "Bundle.main.af.publicKeys", "ServerTrustPolicy.certificates()",
        "ServerTrustPolicy.publicKeys()", "ServerTrustPolicy.certificates(in:Bundle.main)",
        "ServerTrustPolicy.publicKeys(in:Bundle.main)", ".main.af.certificates", ".main.af.publicKeys",
    ]

    private let project: SourceProject?
    /// The program, in which the names of files are texts.
    private let program: String

    init(_ project: SourceProject?, program: String) { (self.project, self.program) = (project, program) }

    /// Returns the certificates that an argument means, where `nil` is the default. `ignored` are the files with the
    /// usual names in which Alamofire finds no certificate.
    func certificates(named argument: String?) throws(Failure) -> (certificates: [File], ignored: [String]) {
        guard let project else {
            throw Failure(
                message: "these pins are the certificates of the app's bundle, and no project is known: give the "
                    + "directory, or run pinctl on the file in its repository")
        }
        let files = project.certificates
        if let problem = files.problem {
            throw Failure(message: "the project's certificates aren't all known, because \(problem)")
        }
        var found: [File] = []
        var ignored: [String] = []
        for (path, bytes) in files.files {
            let name = String(path.split(separator: "/").last ?? "")
            if let certificate = try? X509Certificate(derBytes: bytes) {
                found.append(File(path: path, name: name, certificate: certificate))
            } else {
                ignored.append(path)
            }
        }
        guard let argument, !Self.everything.contains(argument.filter { !$0.isWhitespace }) else {
            guard !found.isEmpty else {
                let reason = ignored.first.map { "\($0) isn't one in DER" } ?? "there is no .cer, .crt or .der file"
                throw Failure(
                    message: "these pins are the certificates of the app's bundle, and the project has none "
                        + "(\(reason)): add them to the project")
            }
            return (found, ignored)
        }
        // The names of resources, as in `path(forResource: "api", ofType: "cer")`.
        let chosen = found.filter { file in
            let stem = file.name.lastIndex(of: ".").map { file.name[..<$0] } ?? file.name[...]
            return program.contains("\"\(stem)\"") || program.contains("\"\(file.name)\"")
        }
        // mutant alamofire-chosen: true by AlamofireTests/unread
        guard !chosen.isEmpty else {
            throw Failure(
                message: "the certificates \(quoted(String(argument.prefix(80)))) aren't known: name their files in "
                    + "this program, or leave the argument out for all of the bundle")
        }
        return (chosen, [])
    }
}
