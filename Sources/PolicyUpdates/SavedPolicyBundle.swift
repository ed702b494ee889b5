import CertificatePinning
import Foundation
import PinctlBasics

/// The file of the last bundle that was accepted, `policy-bundle` in a private directory.
///
/// It is the only state that survives the program. It is replaced atomically and verified again whenever it is read, so
/// a file that was damaged or forged is never in force. If somebody deletes it or puts an older bundle in its place,
/// nothing on this machine shows that.
struct SavedPolicyBundle: Sendable {
    let directory: String

    private static let name = "policy-bundle"

    enum Failure: Error, CustomStringConvertible {
        case folder(PrivateFolderError)
        case bundle(PolicyBundleError)

        var description: String {
            switch self {
            case .folder(let error): error.description
            case .bundle(let error): error.description
            }
        }
    }

    /// Returns the saved bundle, which may have expired, or `nil` if there is none. Throws if it doesn't continue
    /// `trust`.
    func read(by trust: PolicyBundleTrust) throws(Failure) -> VerifiedPolicyBundle? {
        let result: Result<VerifiedPolicyBundle, PolicyBundleError>?
        do throws(PrivateFolderError) {
            result = try read(PrivateFolder(path: directory, creates: true), by: trust)
        } catch {
            throw .folder(error)
        }
        do throws(PolicyBundleError) { return try result?.get() } catch { throw .bundle(error) }
    }

    /// Verifies a bundle and saves it, and returns it when it is on disk. Another process of the program may have saved
    /// a later one than that of `trust`, which the bundle has to continue then.
    func replace(
        with bundle: PolicyBundle, by trust: PolicyBundleTrust, at time: Date
    ) throws(Failure) -> VerifiedPolicyBundle {
        let result: Result<VerifiedPolicyBundle, PolicyBundleError>
        do throws(PrivateFolderError) {
            let folder = try PrivateFolder(path: directory, creates: true)
            result = try folder.change { () throws(PrivateFolderError) in
                let saved = try? read(folder, by: trust)?.get()
                let latest = saved?.trust ?? trust
                let result = Result { () throws(PolicyBundleError) in try bundle.verified(by: latest, at: time) }
                if case .success(let verified) = result, saved == nil || verified.trust != latest {
                    try folder.replace(Self.name, with: bundle.json)
                }
                return result
            }
        } catch {
            throw .folder(error)
        }
        do throws(PolicyBundleError) { return try result.get() } catch { throw .bundle(error) }
    }

    private func read(
        _ folder: PrivateFolder, by trust: PolicyBundleTrust
    ) throws(PrivateFolderError) -> Result<VerifiedPolicyBundle, PolicyBundleError>? {
        guard let (bytes, _) = try folder.contents(of: Self.name, limit: PolicyBundle.maximumSize) else { return nil }
        return Result { () throws(PolicyBundleError) in try PolicyBundle(json: bytes).verifiedAtAnyTime(by: trust) }
    }
}
