import FoundationEssentials

/// A path from the working directory as a policy at another place names it; a policy without a place stands here.
func rebased(_ file: String, besides policy: String) -> String {
    let folders = policy.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    guard !file.hasPrefix("/") else { return file }
    guard folders.first != "" else { return FileManager.default.currentDirectoryPath + "/" + file }
    let here = folders.filter { $0 != "." && !$0.isEmpty }
    // The way back out of a folder that was left by .. is not known.
    guard !here.contains("..") else { return FileManager.default.currentDirectoryPath + "/" + file }
    let parts = file.split(separator: "/").filter { $0 != "." }
    let same = zip(here, parts.dropLast()).prefix { $0 == $1 }.count
    return (Array(repeating: "..", count: here.count - same) + parts.dropFirst(same)).joined(separator: "/")
}

/// A path without `.`, empty parts, and `..` where the folder before it is named, to compare it with another one.
func plainPath(_ path: String) -> String {
    var parts: [Substring] = []
    for part in path.split(separator: "/") where part != "." {
        if part == "..", let last = parts.last, last != ".." { parts.removeLast() } else { parts.append(part) }
    }
    return (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
}
