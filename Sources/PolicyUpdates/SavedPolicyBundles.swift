import CertificatePinning
import Foundation
import PinctlBasics

/// The files of an updater in a private directory: the bundle in force, and a later one that is in its rollout stage.
///
/// They are the only state that survives the program. They are replaced atomically and verified again whenever they are
/// read, so a file that was damaged or forged is never in force. If somebody deletes them or puts older ones in their
/// place, nothing on this machine shows that.
struct SavedPolicyBundles: Sendable {
    let directory: String

    /// The bundles in the files.
    struct Bundles: Sendable {
        /// The bundle in force, which may have expired.
        var current: VerifiedPolicyBundle?
        /// A later bundle that isn't in force yet.
        var staged: VerifiedPolicyBundle?

        /// The bundle that was accepted last.
        var latest: VerifiedPolicyBundle? { staged ?? current }
    }

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

    private enum File: String {
        case current = "policy-bundle"
        case staged = "policy-bundle-staged"
        /// A random number that decides in which rollouts the installation takes part.
        case installation = "policy-installation"
    }

    /// Reads the bundles. Throws if the current one doesn't continue `trust`. A staged one that doesn't continue the
    /// current one is ignored.
    func read(by trust: PolicyBundleTrust) throws(Failure) -> Bundles {
        try inFolder { folder throws(PrivateFolderError) in try bundles(in: folder, by: trust) }
    }

    /// Verifies a bundle and saves it, and returns what is on disk then. Another process of the program may have saved
    /// a later bundle than that of `trust`, which this one has to continue.
    func accept(
        _ bundle: PolicyBundle, by trust: PolicyBundleTrust, at time: Date
    ) throws(Failure) -> Bundles {
        try changingFolder { folder throws(PrivateFolderError) in
            var saved = (try? bundles(in: folder, by: trust).get()) ?? Bundles()
            let latest = saved.latest?.trust ?? trust
            let verified: VerifiedPolicyBundle
            do throws(PolicyBundleError) {
                verified = try bundle.verified(by: latest, at: time)
            } catch {
                return .failure(error)
            }
            guard saved.latest == nil || verified.trust != latest else { return .success(saved) }
            if let rollout = bundle.rollout, time < rollout.until,
                !rollout.includes(installation: try installation(folder), of: bundle)
            {
                saved.staged = verified
                try folder.replace(File.staged.rawValue, with: bundle.json)
            } else {
                saved = try promote(verified, in: folder)
            }
            return .success(saved)
        }
    }

    /// Makes the staged bundle the one in force, and returns what is on disk then.
    func promote(by trust: PolicyBundleTrust) throws(Failure) -> Bundles {
        try changingFolder { folder throws(PrivateFolderError) in
            let read = try bundles(in: folder, by: trust)
            guard case .success(let saved) = read, let staged = saved.staged else { return read }
            return .success(try promote(staged, in: folder))
        }
    }

    private func promote(_ bundle: VerifiedPolicyBundle, in folder: PrivateFolder) throws(PrivateFolderError) -> Bundles
    {
        try folder.replace(File.current.rawValue, with: bundle.bundle.json)
        try folder.remove(File.staged.rawValue)
        return Bundles(current: bundle)
    }

    // MARK: Files

    private func bundles(
        in folder: PrivateFolder, by trust: PolicyBundleTrust
    ) throws(PrivateFolderError) -> Result<Bundles, PolicyBundleError> {
        var bundles = Bundles()
        let current = try bundle(.current, in: folder, by: trust)
        do throws(PolicyBundleError) { bundles.current = try current?.get() } catch { return .failure(error) }
        let trust = bundles.current?.trust ?? trust
        if case .success(let staged)? = try bundle(.staged, in: folder, by: trust), staged.trust != trust {
            bundles.staged = staged
        }
        return .success(bundles)
    }

    private func bundle(
        _ file: File, in folder: PrivateFolder, by trust: PolicyBundleTrust
    ) throws(PrivateFolderError) -> Result<VerifiedPolicyBundle, PolicyBundleError>? {
        guard let (bytes, _) = try folder.contents(of: file.rawValue, limit: PolicyBundle.maximumSize) else {
            return nil
        }
        return Result { () throws(PolicyBundleError) in try PolicyBundle(json: bytes).verifiedAtAnyTime(by: trust) }
    }

    private func installation(_ folder: PrivateFolder) throws(PrivateFolderError) -> [UInt8] {
        let size = 16
        if let (bytes, _) = try folder.contents(of: File.installation.rawValue, limit: size), bytes.count == size {
            return bytes
        }
        let bytes = (0..<size).map { _ in UInt8.random(in: .min ... .max) }
        try folder.replace(File.installation.rawValue, with: bytes)
        return bytes
    }

    private func inFolder(
        _ body: (PrivateFolder) throws(PrivateFolderError) -> Result<Bundles, PolicyBundleError>
    ) throws(Failure) -> Bundles {
        let result: Result<Bundles, PolicyBundleError>
        do throws(PrivateFolderError) {
            result = try body(PrivateFolder(path: directory, creates: true))
        } catch {
            throw .folder(error)
        }
        do throws(PolicyBundleError) { return try result.get() } catch { throw .bundle(error) }
    }

    /// Runs `body` while no other process changes the directory.
    private func changingFolder(
        _ body: (PrivateFolder) throws(PrivateFolderError) -> Result<Bundles, PolicyBundleError>
    ) throws(Failure) -> Bundles {
        try inFolder { folder throws(PrivateFolderError) in
            try folder.change { () throws(PrivateFolderError) in try body(folder) }
        }
    }
}
