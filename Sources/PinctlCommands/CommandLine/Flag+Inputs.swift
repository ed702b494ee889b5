import PinDialects

/// What keys are read from, and how their pins are written.
extension Flag {
    static let long = Flag("long", short: "l", "say for every pin where it comes from and what it is")
    static let spelling = Flag(
        "as", value: .choice("SPELLING", PinSpelling.allCases.map(\.rawValue)),
        "spell pins as \(PinSpelling.allCases.map(\.rawValue).joined(separator: ", ")) (okhttp)")
    static let output = Flag(
        "output", short: "o", value: .file("FILE"), "write to FILE, which must not exist yet")
}
