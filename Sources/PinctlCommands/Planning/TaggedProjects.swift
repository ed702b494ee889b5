import PinDialects
import PinctlBasics

/// The projects of programs at a tag, in whose other files a program's constants and certificates are looked for.
///
/// As in the working tree, the project of a file is the closest directory above it with Gradle's settings, or otherwise
/// the whole repository.
final class TaggedProjects {
    private let files: TaggedFiles
    private let tag: TaggedFiles.Tag
    /// The contents of programs by their objects.
    var contents: [String: [UInt8]] = [:]

    init(_ files: TaggedFiles, _ tag: TaggedFiles.Tag) { (self.files, self.tag) = (files, tag) }

    /// Returns the project of a file, with the files that a program in its language can refer to.
    func project(of path: String) -> SourceProject? {
        let kind: SourceProject.Kind = path.lowercased().hasSuffix(".swift") ? .certificate : .program
        let contents = contents(around: path, kind)
        return SourceProject { wanted in
            guard wanted != kind else { return contents }
            var unread = SourceProject.Contents()
            unread.add(problem: "they aren't read at a tag for a file with this name")
            return unread
        }
    }

    private func contents(around path: String, _ kind: SourceProject.Kind) -> SourceProject.Contents {
        var project = SourceProject.Contents()
        do throws(TaggedFilesError) {
            let entries = try files.entries(at: tag)
            let paths = Set(entries.map(\.path))
            let directories = path.split(separator: "/").dropLast().indices.reversed().map { index in
                path.split(separator: "/")[...index].joined(separator: "/") + "/"
            }
            // mutant plan-project: "" by PlanTagTests/constants
            let root =
                directories.first { directory in
                    SourceProjects.rootFiles.contains { paths.contains(directory + $0) }
                } ?? ""
            for entry in entries where entry.path.hasPrefix(root) && !entry.isLink {
                // The files of a submodule are in another repository.
                if entry.isSubmodule { project.add(problem: "\(entry.path) is a submodule, which isn't read at a tag") }
                guard !entry.isSubmodule, SourceProject.contains(String(entry.path.dropFirst(root.count)), kind)
                else { continue }
                do throws(TaggedFilesError) {
                    let bytes: [UInt8]
                    if let known = contents[entry.object] {
                        bytes = known
                    } else {
                        bytes = try files.contents(of: entry)
                    }
                    contents[entry.object] = bytes
                    project.add(bytes, path: entry.path)
                } catch {
                    project.add(problem: "\(entry.path): \(error)")
                }
            }
        } catch {
            project.add(problem: "\(error)")
        }
        return project
    }
}
