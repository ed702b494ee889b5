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

        /// Returns the later one of each two bundles. A staged one counts only if it continues the one in force.
        func merged(with other: Bundles) -> Bundles {
            let current = Self.later(current, other.current)
            var staged = Self.later(staged, other.staged)
            if let first = current?.trust, let next = staged?.trust,
                next.sequence <= first.sequence || next.keySet.number < first.keySet.number
            {
                staged = nil
            }
            return Bundles(current: current, staged: staged)
        }

        private static func later(
            _ one: VerifiedPolicyBundle?, _ other: VerifiedPolicyBundle?
        ) -> VerifiedPolicyBundle? {
            guard let one, let other else { return one ?? other }
            return other.trust.sequence > one.trust.sequence ? other : one
        }
    }

    enum Failure: Error, CustomStringConvertible {
        case directory(PrivateDirectoryError)
        case bundle(PolicyBundleError)

        var description: String {
            switch self {
            case .directory(let error): error.description
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
        try inDirectory { directory throws(PrivateDirectoryError) in try bundles(in: directory, by: trust) }
    }

    /// Verifies a bundle and saves it, and returns what is on disk then. The bundle has to continue those that are
    /// known and those on disk, because another process of the program may have saved later ones.
    func accept(
        _ bundle: PolicyBundle, after known: Bundles, by trust: PolicyBundleTrust, at time: Date
    ) throws(Failure) -> Bundles {
        try changingDirectory { directory throws(PrivateDirectoryError) in
            let saved = try saved(in: directory, by: trust)
            var next = known.merged(with: saved ?? Bundles())
            // mutant update-latest: trust by PolicyUpdaterTests
            let latest = next.latest?.trust ?? trust
            let verified: VerifiedPolicyBundle
            do throws(PolicyBundleError) {
                verified = try bundle.verified(by: latest, at: time)
            } catch {
                return .failure(error)
            }
            if verified.trust != latest {
                // mutant update-stage: false for 2 by PolicyUpdaterTests
                if let rollout = bundle.rollout, time < rollout.until,
                    !rollout.includes(installation: try installation(directory), of: bundle)
                {
                    next.staged = verified
                } else {
                    next = Bundles(current: verified)
                }
            }
            try write(next, over: saved, in: directory)
            return .success(next)
        }
    }

    /// Makes the staged bundle the one in force if its stage has ended, and returns what is on disk then. Another
    /// process may have saved later bundles than the known ones.
    func promote(after known: Bundles, by trust: PolicyBundleTrust, at time: Date) throws(Failure) -> Bundles {
        try changingDirectory { directory throws(PrivateDirectoryError) in
            let saved = try saved(in: directory, by: trust)
            var next = known.merged(with: saved ?? Bundles())
            // mutant update-stage-end: true for 3 by PolicyUpdaterTests
            if let staged = next.staged, let rollout = staged.bundle.rollout, time >= rollout.until {
                next = Bundles(current: staged)
            }
            try write(next, over: saved, in: directory)
            return .success(next)
        }
    }

    /// Returns the bundles on disk, or `nil` if they aren't valid: the next bundle replaces them. Throws if they can't
    /// be read, because they may be later ones.
    private func saved(
        in directory: PrivateDirectory, by trust: PolicyBundleTrust
    ) throws(PrivateDirectoryError) -> Bundles? {
        // mutant update-unreadable: (try? bundles(in: directory, by: trust)) ?? .success(Bundles()) by
        //   PolicyUpdaterTests
        let result = try bundles(in: directory, by: trust)
        return try? result.get()
    }

    private func write(_ next: Bundles, over saved: Bundles?, in directory: PrivateDirectory)
        throws(PrivateDirectoryError)
    {
        // In this order: without the staged bundle, the other one is still valid.
        for (file, new, old) in [
            (File.current, next.current, saved?.current), (File.staged, next.staged, saved?.staged),
        ] {
            guard let new else {
                if saved == nil || old != nil { try directory.remove(file.rawValue) }
                continue
            }
            if new.trust != old?.trust { try directory.replace(file.rawValue, with: new.bundle.json) }
        }
    }

    // MARK: Files

    private func bundles(
        in directory: PrivateDirectory, by trust: PolicyBundleTrust
    ) throws(PrivateDirectoryError) -> Result<Bundles, PolicyBundleError> {
        var bundles = Bundles()
        let current = try bundle(.current, in: directory, by: trust)
        do throws(PolicyBundleError) { bundles.current = try current?.get() } catch { return .failure(error) }
        let trust = bundles.current?.trust ?? trust
        if case .success(let staged)? = try bundle(.staged, in: directory, by: trust), staged.trust != trust {
            bundles.staged = staged
        }
        return .success(bundles)
    }

    private func bundle(
        _ file: File, in directory: PrivateDirectory, by trust: PolicyBundleTrust
    ) throws(PrivateDirectoryError) -> Result<VerifiedPolicyBundle, PolicyBundleError>? {
        guard let (bytes, _) = try directory.contents(of: file.rawValue, limit: PolicyBundle.maximumSize) else {
            return nil
        }
        return Result { () throws(PolicyBundleError) in try PolicyBundle(json: bytes).verifiedAtAnyTime(by: trust) }
    }

    private func installation(_ directory: PrivateDirectory) throws(PrivateDirectoryError) -> [UInt8] {
        let size = 16
        if let (bytes, _) = try directory.contents(of: File.installation.rawValue, limit: size), bytes.count == size {
            return bytes
        }
        let bytes = (0..<size).map { _ in UInt8.random(in: .min ... .max) }
        try directory.replace(File.installation.rawValue, with: bytes)
        return bytes
    }

    private func inDirectory(
        _ body: (PrivateDirectory) throws(PrivateDirectoryError) -> Result<Bundles, PolicyBundleError>
    ) throws(Failure) -> Bundles {
        let result: Result<Bundles, PolicyBundleError>
        do throws(PrivateDirectoryError) {
            result = try body(PrivateDirectory(path: directory, creates: true))
        } catch {
            throw .directory(error)
        }
        do throws(PolicyBundleError) { return try result.get() } catch { throw .bundle(error) }
    }

    /// Runs `body` while no other process changes the directory.
    private func changingDirectory(
        _ body: (PrivateDirectory) throws(PrivateDirectoryError) -> Result<Bundles, PolicyBundleError>
    ) throws(Failure) -> Bundles {
        try inDirectory { directory throws(PrivateDirectoryError) in
            try directory.change { () throws(PrivateDirectoryError) in try body(directory) }
        }
    }
}
