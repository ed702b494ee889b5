package import FoundationEssentials

/// The list of public suffixes of this machine, which Debian's package `publicsuffix` installs.
package struct SystemSuffixList: Sendable {
    let list: SuffixList
    /// When the list was published: by its own word, or as the file's modification time, which the package sets to that
    /// of its source. Nil when there is no list.
    let date: Date?

    private static let path = "/usr/share/publicsuffix/public_suffix_list.dat"
    private static let loaded = Locked<SystemSuffixList?>(nil)

    /// The list, read when it is first asked for.
    static var shared: SystemSuffixList {
        loaded.withLock { loaded in
            let list = loaded ?? SystemSuffixList(contentsOfFile: path)
            loaded = list
            return list
        }
    }

    init(contentsOfFile path: String) {
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

    /// Why answers of this process about public suffixes may be wrong at a time; nil when nothing asked for the list, or
    /// it is there and not older than two years.
    package static func warning(at time: Date) -> String? { loaded.withLock { $0 }?.warning(at: time) }

    /// Two years, with a leap day.
    private static let longestAge: Double = 731 * 86_400

    func warning(at time: Date) -> String? {
        guard let date else {
            return "the public suffix list is missing, and wildcards such as *.co.uk are not recognized: "
                + "install the package publicsuffix"
        }
        guard time.timeIntervalSince(date) > Self.longestAge else { return nil }
        return "the public suffix list is of \(date.day), and wildcards below newer suffixes are not recognized: "
            + "install the package publicsuffix of a newer release of the system, or replace \(Self.path) with the list of "
            + "publicsuffix.org"
    }
}
