import PinctlBasics
package import PinctlFoundation

/// The system's list of public suffixes, which Debian's package `publicsuffix` installs.
package struct SystemSuffixList: Sendable {
    let list: SuffixList
    /// The publication date of the list. If the list doesn't state it, this is the file's modification time, which the
    /// package sets to that of its source. `nil` if there is no list.
    let date: Date?

    private static let path = "/usr/share/publicsuffix/public_suffix_list.dat"
    private static let loaded = Locked<SystemSuffixList?>(nil)

    /// The list, read on first use.
    static var shared: SystemSuffixList {
        loaded.withLock { loaded in
            let list = loaded ?? SystemSuffixList(contentsOfFile: path)
            loaded = list
            return list
        }
    }

    package init(contentsOfFile path: String) {
        do throws(InputFileError) {
            var file = try InputFile(path: path)
            let modified = file.modified
            list = SuffixList(try file.contents(limit: 8 << 20))
            date = list.version.flatMap { Date(rfc3339: $0) } ?? Date(timeIntervalSince1970: Double(modified))
        } catch {
            list = SuffixList([])
            date = nil
        }
    }

    /// Returns a warning if answers about public suffixes in this process may be wrong at `time`. Returns `nil` if the
    /// list hasn't been used, or if it is present and not older than two years.
    package static func warning(at time: Date) -> String? { loaded.withLock { $0 }?.warning(at: time) }

    /// The maximum age: two years, with a leap day.
    private static let longestAge: Double = 731 * 86_400

    func warning(at time: Date) -> String? {
        guard let date else {
            return "the public suffix list is missing, so wildcards such as *.co.uk are not recognized: "
                + "install the package publicsuffix"
        }
        guard time.timeIntervalSince(date) > Self.longestAge else { return nil }
        return "the public suffix list is from \(date.day), so wildcards below newer suffixes are not recognized: "
            + "install the package publicsuffix of a newer release of the system, or replace \(Self.path) with the list of "
            + "publicsuffix.org"
    }
}
