import Foundation

/// The table that is printed, and whether every target in it was met.
struct Report {
    private(set) var failures = 0

    func heading(_ text: String) { print("\n\(text)") }

    /// A measured value that no target is set for.
    func row(_ name: String, _ value: String, _ remark: String = "") {
        // What is longer has a line to itself.
        let label = name.count <= 38 ? pad(name, 38) : name + "\n  " + pad("", 38)
        print("  " + label + pad(value, 14, right: true) + (remark.isEmpty ? "" : "   " + remark))
    }

    /// A measured value that targets are set for, of which one is enough.
    mutating func row(_ name: String, _ value: String, _ targets: Target...) { row(name, value, targets) }

    mutating func row(_ name: String, _ value: String, _ targets: [Target]) {
        let isMet = targets.contains(where: \.isMet)
        if !isMet { failures += 1 }
        row(name, value, targets.map(\.description).joined(separator: ", or ") + (isMet ? "   PASS" : "   FAIL"))
    }

    private func pad(_ text: String, _ width: Int, right: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - text.count))
        return right ? blanks + text : text + blanks
    }
}

/// What was measured and what it should at least or at most be.
struct Target: CustomStringConvertible {
    enum Bound { case atLeast, atMost }

    let measured: Double
    let unit: String
    let bound: Bound
    let limit: Double

    var isMet: Bool { bound == .atLeast ? measured >= limit : measured <= limit }

    var description: String {
        "\(decimal(measured, 3)) \(unit) (\(bound == .atLeast ? "at least" : "at most") \(decimal(limit, 2)))"
    }
}

func decimal(_ value: Double, _ places: Int) -> String { String(format: "%.\(places)f", value) }

/// A time in nanoseconds, in the unit that suits it.
func time(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<100_000: decimal(nanoseconds / 1000, 3) + " us"
    case ..<100_000_000: decimal(nanoseconds / 1_000_000, 3) + " ms"
    default: decimal(nanoseconds / 1_000_000_000, 3) + " s"
    }
}
