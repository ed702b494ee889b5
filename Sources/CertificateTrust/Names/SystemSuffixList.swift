import PinctlBasics
package import PinctlFoundation

/// The system's list of public suffixes, which Debian's package `publicsuffix` installs.
package struct SystemSuffixList: Sendable {
    private(set) var list: SuffixList
    /// The publication date of the list. If the list doesn't state it, this is the file's modification time, which the
    /// package sets to that of its source. `nil` if there is no list.
    private(set) var date: Date?

    /// Whether the user has named the list, and so accepts its age.
    private var isNamed = false

    private static let path = "/usr/share/publicsuffix/public_suffix_list.dat"
    private static let loaded = Locked<SystemSuffixList?>(nil)
    /// Whether an answer of the list, or its absence, decided something in this process.
    private static let hasDecided = Locked(false)

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
            (list, date) = try Self.read(path)
        } catch {
            list = SuffixList([])
            date = nil
        }
    }

    private init(_ contents: (list: SuffixList, date: Date)) { (list, date) = contents }

    private static func read(_ path: String) throws(InputFileError) -> (list: SuffixList, date: Date) {
        var file = try InputFile(path: path)
        let modified = file.modified
        let list = SuffixList(try file.contents(limit: 8 << 20))
        return (list, list.version.flatMap { Date(rfc3339: $0) } ?? Date(timeIntervalSince1970: Double(modified)))
    }

    /// Uses a file instead of the system's list in this process, whatever its age. Returns the problem with the file,
    /// or `nil` if there is none.
    package static func use(contentsOfFile path: String) -> String? {
        do throws(InputFileError) {
            var named = SystemSuffixList(try read(path))
            guard !named.list.isEmpty else { return "\(path): contains no suffix: name the list of publicsuffix.org" }
            named.isNamed = true
            loaded.withLock { $0 = named }
            return nil
        } catch {
            return "\(path): \(error)"
        }
    }

    /// Returns the section that has a name as a suffix. Without a list, an answer may be wrong unless the name is a
    /// single label.
    func section(of name: ServerName) -> PublicSuffixes.Section? {
        if date == nil, name.description.contains(".") { Self.noteRefusal() }
        return list.section(of: name)
    }

    /// Records that the list decided something.
    static func noteRefusal() { hasDecided.withLock { $0 = true } }

    /// Returns a warning if the list decided something in this process, and is missing or older than two years. With
    /// `whenUsed`, it is enough that the list was used, because what it lacks isn't found either.
    package static func warning(at time: Date, whenUsed: Bool) -> String? {
        guard whenUsed || hasDecided.withLock(\.self) else { return nil }
        return loaded.withLock { $0 }?.warning(at: time)
    }

    /// The maximum age: two years, with a leap day.
    private static let longestAge: Double = 731 * 86_400

    func warning(at time: Date) -> String? {
        guard let date else {
            return "the public suffix list is missing, so wildcards such as *.co.uk are not recognized: "
                + "install the package publicsuffix"
        }
        guard !isNamed, time.timeIntervalSince(date) > Self.longestAge else { return nil }
        return "the public suffix list is from \(date.day), so wildcards below newer suffixes are not recognized: "
            + "name a newer list of publicsuffix.org in PINCTL_PUBLIC_SUFFIXES, or \(Self.path) to accept its age"
    }
}
