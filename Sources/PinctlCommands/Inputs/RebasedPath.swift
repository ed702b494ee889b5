import PinctlFoundation

/// Returns a path relative to the working directory as a path relative to a policy. A policy without a directory is in
/// the working directory.
func rebased(_ file: String, besides policy: String) -> String {
    let directories = policy.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    guard !file.hasPrefix("/") else { return file }
    guard directories.first != "" else { return FileManager.default.currentDirectoryPath + "/" + file }
    let here = directories.filter { $0 != "." && !$0.isEmpty }
    // The way back from a directory reached through `..` isn't known.
    guard !here.contains("..") else { return FileManager.default.currentDirectoryPath + "/" + file }
    let parts = file.split(separator: "/").filter { $0 != "." }
    let same = zip(here, parts.dropLast()).prefix { $0 == $1 }.count
    return (Array(repeating: "..", count: here.count - same) + parts.dropFirst(same)).joined(separator: "/")
}

/// Returns the path by which a policy names a file of the user: relative to the policy if the file is located in the
/// same repository, or below the policy's directory, so that another checkout has it. Otherwise it is the path of
/// ``rebased(_:besides:)``, which may be absolute.
func shared(_ file: String, besides policy: String) -> String {
    let path = rebased(file, besides: policy)
    // The place of a policy on standard output isn't known.
    guard path.hasPrefix("/"), !policy.isEmpty else { return path }
    func absolute(_ path: String) -> URL {
        URL(filePath: path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path)
    }
    // Links are resolved, since `..` leads out of the directory at the end of a link.
    let directory = absolute(policy).deletingLastPathComponent().resolvingSymlinksInPath().path()
    let target = absolute(path).deletingLastPathComponent().resolvingSymlinksInPath().path()
    let (here, there) = (plainPath(directory).split(separator: "/"), plainPath(target).split(separator: "/"))
    let repository = here.indices.reversed().first { last in
        FileManager.default.fileExists(atPath: "/" + here[...last].joined(separator: "/") + "/.git")
    }
    let tree = repository.map { here[...$0] } ?? here[...]
    // mutant init-shared-anchor: false for `there.starts(with: tree)` by InitTests
    guard there.starts(with: tree), let name = path.split(separator: "/").last else { return path }
    let same = zip(here, there).prefix { $0 == $1 }.count
    return (Array(repeating: "..", count: here.count - same) + there.dropFirst(same) + [name]).joined(separator: "/")
}

/// Returns a path for comparison, without `.` and empty parts, and without `..` after a named directory.
func plainPath(_ path: String) -> String {
    var parts: [Substring] = []
    for part in path.split(separator: "/") where part != "." {
        if part == "..", let last = parts.last, last != ".." { parts.removeLast() } else { parts.append(part) }
    }
    return (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
}
