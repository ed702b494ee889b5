import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The files of an app around its network security config: the manifest and the Gradle files above it, and the roots in
/// its resources.
package struct AndroidProject {
    /// The path of the config.
    private let path: String
    /// Returns the contents of a file, or `nil` if there is none.
    private let read: (String) -> [UInt8]?

    /// The number of directories above the config in which files are searched. A config in `app/src/main/res/xml` has
    /// its module's Gradle file five directories above it, and the project's in the next one.
    private static let depth = 6

    /// Whether a relative path has directories above the one that it is relative to.
    private let hasDirectoriesAbove: Bool

    /// Creates the project of a config. `path` is absolute, or relative to the top of the tree that `read` reads, or,
    /// if `hasDirectoriesAbove` is true, to a directory in it.
    package init(config path: String, hasDirectoriesAbove: Bool = false, read: @escaping (String) -> [UInt8]?) {
        self.path = path
        self.hasDirectoriesAbove = hasDirectoriesAbove
        self.read = read
    }

    /// The directories that contain the config, the closest first, each empty or with a slash at its end.
    private var directories: [String] {
        var directories: [String] = []
        var rest = path[...]
        while directories.count <= Self.depth, let slash = rest.lastIndex(of: "/") {
            directories.append(String(rest[...slash]))
            rest = rest[..<slash]
        }
        guard !path.hasPrefix("/"), directories.count <= Self.depth else { return directories }
        guard hasDirectoriesAbove else { return directories + [""] }
        // The directory above `../` is `../../`, and not the one that its text begins with.
        let steps = directories.prefix { !["..", "."].contains($0.dropLast().split(separator: "/").last) }
        directories = Array(steps) + [directories.dropFirst(steps.count).first ?? ""]
        while directories.count <= Self.depth { directories.append((directories.last ?? "") + "../") }
        return directories
    }

    /// Returns the contents of a root in the app's resources, `@raw/NAME`, and the path of its file.
    package func root(_ source: String) -> (path: String, bytes: [UInt8])? {
        guard source.hasPrefix("@raw/"), let directory = directories.dropFirst().first,
            !source.dropFirst(5).contains("/")
        else {
            return nil
        }
        for end in ["pem", "crt", "cer", "der"] {
            let file = "\(directory)raw/\(source.dropFirst(5)).\(end)"
            if let bytes = read(file) { return (file, bytes) }
        }
        return nil
    }

    /// The API level that the app targets.
    package enum Target: Sendable, Hashable {
        case level(AndroidTarget, file: String)
        /// A file sets it to something that isn't a number there, and no other file says what that is.
        case unknown(file: String)
    }

    /// The level that the closest Gradle file sets, or otherwise the closest manifest. `nil` if no file sets it.
    package var target: Target? {
        var texts: [(path: String, text: String)] = []
        var manifest: Target?
        for directory in directories {
            for name in ["build.gradle.kts", "build.gradle"] {
                guard let bytes = read(directory + name) else { continue }
                texts.append((directory + name, String(decoding: bytes, as: UTF8.self)))
            }
            if manifest == nil, let bytes = read(directory + "AndroidManifest.xml") {
                manifest = Self.target(inManifest: bytes).map { .level($0, file: directory + "AndroidManifest.xml") }
            }
        }
        for (path, text) in texts {
            switch GradleText(text).target {
            case nil: continue
            case .level(let target): return .level(target, file: path)
            case .named(let name):
                if let target = level(named: name, texts) { return .level(target, file: path) }
                return .unknown(file: path)
            }
        }
        return manifest
    }

    /// Returns the number that a version catalog, a file of properties or another Gradle file gives a name.
    private func level(named name: String, _ texts: [(path: String, text: String)]) -> AndroidTarget? {
        for directory in directories {
            for file in ["gradle/libs.versions.toml", "gradle.properties"] {
                guard let bytes = read(directory + file) else { continue }
                let text = GradleText(String(decoding: bytes, as: UTF8.self), comment: "#")
                if let target = text.number(named: name) { return target }
            }
        }
        return texts.lazy.compactMap { GradleText($0.text).number(named: name) }.first
    }

    private static func target(inManifest bytes: [UInt8]) -> AndroidTarget? {
        guard let root = try? XMLReader.read(bytes), root.localName == "manifest" else { return nil }
        let uses = root.elements.first { $0.localName == "uses-sdk" }
        return uses?["android:targetSdkVersion"].flatMap { AndroidTarget($0.value) }
    }
}

/// A text of Gradle, in which a level is set. Only its words are read, since the rest is a program.
struct GradleText {
    private let words: [String]

    /// The level that an app targets.
    enum Target: Equatable {
        case level(AndroidTarget)
        /// A level that has a name.
        case named(String)
    }

    /// Splits a text into words and signs, without its comments. A quoted text is split too.
    init(_ text: String, comment: String = "//") {
        var words: [String] = []
        for line in Self.withoutBlockComments(text).split(whereSeparator: \.isNewline) {
            var word = ""
            var rest = line
            while let character = rest.first, !rest.hasPrefix(comment) {
                rest.removeFirst()
                if character.isLetter || character.isNumber || "_-.".contains(character) {
                    word.append(character)
                    continue
                }
                if !word.isEmpty { words.append(word) }
                word = ""
                if !character.isWhitespace, character != "\"", character != "'" { words.append(String(character)) }
            }
            if !word.isEmpty { words.append(word) }
            words.append("\n")
        }
        self.words = words
    }

    private static func withoutBlockComments(_ text: String) -> String {
        var parts: [Substring] = []
        var rest = text[...]
        while let start = rest.firstRange(of: "/*") {
            parts.append(rest[..<start.lowerBound])
            let end = rest[start.upperBound...].firstRange(of: "*/")
            rest = end.map { rest[$0.upperBound...] } ?? ""
        }
        return (parts + [rest]).joined(separator: " ")
    }

    /// The level in the first statement that sets it: `targetSdk = 37`, `targetSdkVersion 37`,
    /// `targetSdk { version = release(37) }` or the same with a name.
    var target: Target? {
        for (index, word) in words.enumerated() where Self.isSetter(word) {
            let statement = words[(index + 1)...].prefix { $0 != "\n" }
            // A block can have several lines.
            let value = statement.first == "{" ? words[(index + 1)...].prefix { $0 != "}" } : statement
            let names = value.filter { name in
                name.contains { $0.isLetter || $0.isNumber }
                    && !Self.keywords.contains(String(name.split(separator: ".").last ?? ""))
            }
            guard let name = names.last else { continue }
            if let level = AndroidTarget(name) { return .level(level) }
            return .named(Self.plainName(name))
        }
        return nil
    }

    private static let keywords: Set = [
        "version", "release", "project", "property", "findProperty", "toInteger", "toInt",
    ]

    /// Whether the word is the setting itself, which may follow the name of its block.
    private static func isSetter(_ word: String) -> Bool {
        let parts = word.split(separator: ".")
        guard let last = parts.last, last == "targetSdk" || last == "targetSdkVersion" else { return false }
        return parts.count == 1 || parts.dropLast().last == "defaultConfig"
    }

    /// Returns the last part of a reference such as `libs.versions.target.sdk.get` or `rootProject.ext.targetSdk`.
    private static func plainName(_ reference: String) -> String {
        var name = reference[...]
        for end in [".toInteger", ".toInt", ".get", ".asInteger"] where name.hasSuffix(end) {
            name = name.dropLast(end.count)
        }
        for start in ["libs.versions.", "rootProject.ext.", "project.ext.", "rootProject.extra.", "ext.", "extra."]
        where name.hasPrefix(start) {
            return String(name.dropFirst(start.count))
        }
        return name.split(separator: ".").last.map(String.init) ?? String(name)
    }

    /// Returns the number that the text gives a name. A catalog's name has hyphens where Gradle writes dots.
    func number(named name: String) -> AndroidTarget? {
        let wanted = Self.normalized(name)
        for (index, word) in words.enumerated() where Self.normalized(word) == wanted {
            let rest = words[(index + 1)...].prefix { $0 != "\n" }
            let value = rest.drop { ["=", ":", "(", ")", "{", "by", "extra", "Int"].contains($0) }
            if let level = value.first.flatMap({ AndroidTarget($0) }) { return level }
        }
        return nil
    }

    private static func normalized(_ name: String) -> String {
        String(name.filter { !"_-.".contains($0) }).lowercased()
    }
}

/// The API level that an Android app targets, its `targetSdkVersion`. Defaults of the system depend on it.
package struct AndroidTarget: Sendable, Hashable {
    /// The API level, such as 37 for Android 17.
    package let level: Int

    /// Creates a target with an API level.
    package init(level: Int) { self.level = level }

    /// Parses an API level in decimal digits, and returns `nil` for anything else.
    package init?(_ text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.count <= 4, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let level = Int(text), level > 0
        else { return nil }
        self.init(level: level)
    }

    // mutant plan-target: false for `level >= 37` by PlanTargetTests
    /// Whether a leaf needs timestamps of Certificate Transparency logs unless the config says otherwise (AOSP's
    /// DEFAULT_ENABLE_CERTIFICATE_TRANSPARENCY, since Android 17).
    package var requiresTransparency: Bool { level >= 37 }

    /// Whether requests without TLS are allowed unless the config says otherwise, as before Android 9.
    var allowsCleartext: Bool { level < 28 }
}
