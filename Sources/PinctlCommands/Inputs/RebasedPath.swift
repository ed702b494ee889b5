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

/// Returns a path for comparison, without `.` and empty parts, and without `..` after a named directory.
func plainPath(_ path: String) -> String {
    var parts: [Substring] = []
    for part in path.split(separator: "/") where part != "." {
        if part == "..", let last = parts.last, last != ".." { parts.removeLast() } else { parts.append(part) }
    }
    return (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
}
