import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics

extension ReleaseReader {
    /// Adds the releases of `git:TAGGLOB:PATH`, where several paths or patterns of paths may follow one another.
    mutating func readTags(_ source: String, _ console: inout Console) throws(UsageError) {
        let parts = source.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 3, parts.dropFirst().allSatisfy({ !$0.isEmpty }) else {
            throw .unusable([
                "\(source): invalid source: write git:TAGGLOB:PATH, such as git:v5.*:pins/pins.jsonc, with :PATH again "
                    + "for each other path"
            ])
        }
        var paths: [String] = []
        for part in parts.dropFirst(2) {
            guard !part.hasPrefix("/") else {
                throw .unusable([
                    "\(source): a path in git begins at the top of the repository: write \(part.drop { $0 == "/" }), "
                        + "without a leading slash"
                ])
            }
            guard let path = PolicyDirectory.resolvingDots(in: part) else {
                throw .unusable(["\(source): \(part) is outside the repository: give the path from its top directory"])
            }
            paths.append(path)
        }
        let files: TaggedFiles
        let tags: [TaggedFiles.Tag]
        do throws(TaggedFilesError) {
            if let open = self.files {
                files = open
            } else {
                files = try TaggedFiles(directory: repository, variables: variables)
            }
            self.files = files
            tags = try files.tags(matching: parts[1])
        } catch {
            throw .unusable(["\(source): \(error)"])
        }
        var absent: [String] = []
        // The positions of rules include the path, so releases are shared only within one source and path.
        releasesByBytes = [:]
        for tag in tags {
            var isPresent = false
            do throws(TaggedFilesError) {
                let found = try self.paths(paths, at: tag, in: files)
                for path in found {
                    isPresent = read(path, at: tag, isAlone: found.count == 1, files, source, &console) || isPresent
                }
            } catch {
                report(["\(tag.name): \(error)"], source, [tag.name], &console)
                continue
            }
            // mutant plan-absent: false by PlanTagTests
            if !isPresent { absent.append(tag.name) }
        }
        let title = paths.count == 1 ? paths[0] : "none of \(paths.joined(separator: ", "))"
        guard absent.count < tags.count else {
            throw .unusable([
                "\(source): \(title) exists at \(paths.count == 1 ? "none" : "any") of the \(tags.count) matching "
                    + "tags: check the path"
            ])
        }
        guard !absent.isEmpty else { return }
        let shown = absent.prefix(5).joined(separator: ", ") + (absent.count > 5 ? ", …" : "")
        let verb = paths.count == 1 ? "doesn't exist" : "exists"
        report(
            [
                "\(title) \(verb) at \(absent.count) of \(tags.count) tags: \(shown): add the path that it had there "
                    + "as \(source):PATH, or choose tags that have it"
            ], source, absent.map { name(of: paths.joined(separator: " or "), at: $0, isAlone: true) }, &console)
    }

    /// Returns the name of the row for a path at a tag: the tag's, unless it has several.
    private func name(of path: String, at tag: String, isAlone isOnlyPath: Bool) -> String {
        // mutant plan-tag-twice: false for `isTaken(tag)` by PlanTagTests/secondSource
        isTaken(tag) || !isOnlyPath ? untaken("\(tag):\(path)") : tag
    }

    /// Returns the paths to read at a tag, in which files stand for patterns.
    private func paths(
        _ paths: [String], at tag: TaggedFiles.Tag, in files: TaggedFiles
    ) throws(TaggedFilesError) -> [String] {
        func isGlob(_ path: String) -> Bool { path.contains { "*?[".contains($0) } }
        guard paths.count > 1 || paths.contains(where: isGlob) else { return paths }
        let all = try files.entries(at: tag).map(\.path)
        var found: [String] = []
        for path in paths {
            var matching = all.filter { isGlob(path) ? matches($0, glob: path) : $0 == path }
            // A path behind a link or in a submodule isn't listed, and reading it says why.
            if matching.isEmpty, !isGlob(path), files.isUnlisted(path, in: all) { matching = [path] }
            for file in matching where !found.contains(file) { found.append(file) }
        }
        return found
    }

    /// Adds the releases of one file at a tag. Returns false if the tag doesn't have the file.
    private mutating func read(
        _ path: String, at tag: TaggedFiles.Tag, isAlone isOnlyPath: Bool, _ files: TaggedFiles, _ source: String,
        _ console: inout Console
    ) -> Bool {
        let bytes: [UInt8]
        do throws(InputFileError) {
            bytes = try files.contents(path, at: tag, limit: TaggedFiles.maximumSize)
        } catch {
            if error.isNoSuchFile { return false }
            let name = name(of: path, at: tag.name, isAlone: isOnlyPath)
            report(["\(tag.name): \(path): \(error)"], source, [name], &console)
            return true
        }
        do throws(UsageError) {
            try add(path, bytes, at: tag, isAlone: isOnlyPath, files, &console)
        } catch {
            let name = name(of: path, at: tag.name, isAlone: isOnlyPath)
            report(error.messages.map { "\(tag.name): \($0)" }, source, [name], &console)
        }
        return true
    }

    private mutating func add(
        _ path: String, _ bytes: [UInt8], at tag: TaggedFiles.Tag, isAlone isOnlyPath: Bool, _ files: TaggedFiles,
        _ console: inout Console
    ) throws(UsageError) {
        let name = name(of: path, at: tag.name, isAlone: isOnlyPath)
        let start = [Array(path.utf8), bytes]
        let first = releases.count
        // mutant plan-share-tag: 0..<0 for `first..<releases.count` by PlanTagTests/shares
        defer { for place in first..<releases.count { releases[place].tag = tag.name } }
        if let known = releasesByBytes[start] {
            append(equalTo: known, as: name)
            return
        }
        var isAlone = true
        let directory = PolicyDirectory(kept: { name, limit throws(InputFileError) in
            isAlone = false
            return try files.contents(name, at: tag, limit: limit)
        })
        let projects = TaggedProjects(files, tag)
        // A file of an earlier tag is read once.
        projects.contents = taggedContents
        defer { taggedContents = projects.contents }
        let more = try append(
            name, path, bytes, in: directory, tag: tag.name, &console,
            ReleaseTree(
                contents: { path throws(InputFileError) in
                    try files.contents(path, at: tag, limit: TaggedFiles.maximumSize)
                }, optional: { files.contentsIfPresent($0, at: tag) }, project: projects.project))
        let key = start + more
        if isAlone, let known = releasesByBytes[key] {
            releases.removeSubrange(first...)
            append(equalTo: known, as: name)
        } else if isAlone {
            releasesByBytes[key] = first..<releases.count
        }
    }
}
