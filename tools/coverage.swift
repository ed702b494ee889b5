// Prints the lines and regions that tests have run, of each module and of each part of the sources that must be
// covered. Then lists the regions of those parts that no test has run. Exits with 1 if a part is below the limit.
// Arguments: the output of `llvm-cov export`, the project's root with a slash, the limit in percent, and the parts,
// each a directory or a file.
import Foundation

struct Export: Decodable {
    var data: [Coverage]

    struct Coverage: Decodable {
        var files: [File]
        var functions: [Function]
    }
    struct File: Decodable {
        var filename: String
        var summary: Summary
    }
    struct Summary: Decodable {
        var lines: Lines
    }
    struct Lines: Decodable {
        var count: Int
        var covered: Int
    }
    struct Function: Decodable {
        var filenames: [String]
        /// First line and column, last line and column, number of runs, file, expanded file, kind.
        var regions: [[Int]]
    }
}

struct Region: Hashable {
    var file: String
    var start: [Int]
    var end: [Int]
}

struct Sum {
    var lines = (covered: 0, count: 0)
    var regions = (covered: 0, count: 0)
}

let arguments = CommandLine.arguments
let (root, limit, parts) = (arguments[2], Double(arguments[3]) ?? 100, arguments.dropFirst(4))
let export = try JSONDecoder().decode(Export.self, from: Data(contentsOf: URL(filePath: arguments[1])))

func path(_ file: String) -> String { file.hasPrefix(root) ? String(file.dropFirst(root.count)) : file }

// A region is of code if its kind is 0. One that is compiled into several functions counts once, with all its runs. The
// export has functions of tests too, but only the files that were asked for.
let files = Dictionary(
    uniqueKeysWithValues: export.data.flatMap(\.files).map { (path($0.filename), $0.summary.lines) })
var runs: [Region: Int] = [:]
for function in export.data.flatMap(\.functions) {
    for region in function.regions where region[7] == 0 {
        let file = path(function.filenames[region[5]])
        guard files[file] != nil else { continue }
        runs[Region(file: file, start: [region[0], region[1]], end: [region[2], region[3]]), default: 0] += region[4]
    }
}

func isInside(_ file: String, _ part: String) -> Bool { file == part || file.hasPrefix(part + "/") }

func sum(below part: String) -> Sum {
    var sum = Sum()
    for (file, lines) in files where isInside(file, part) {
        sum.lines.covered += lines.covered
        sum.lines.count += lines.count
    }
    for (region, count) in runs where isInside(region.file, part) {
        sum.regions.covered += count > 0 ? 1 : 0
        sum.regions.count += 1
    }
    return sum
}

func cell(_ name: String) -> String { name.padding(toLength: 72, withPad: " ", startingAt: 0) }

func padded(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }

func percent(_ value: (covered: Int, count: Int)) -> Double {
    value.count == 0 ? 0 : 100 * Double(value.covered) / Double(value.count)
}

func row(_ name: String, _ sum: Sum) -> String {
    let cells = [sum.lines, sum.regions].map { value in
        padded("\(value.covered) of \(value.count)", 16) + padded(String(format: "%.2f %%", percent(value)), 10)
    }
    return cell(name) + cells.joined()
}

func heading(_ title: String) -> String { cell(title) + padded("lines", 26) + padded("regions", 26) }

print(heading("module"))
let modules = Set(files.keys.map { $0.split(separator: "/").prefix(2).joined(separator: "/") })
for module in modules.sorted() { print(row(module, sum(below: module))) }
print("\n" + heading("at least \(arguments[3]) % of regions"))
var failed = false
for part in parts {
    let sum = sum(below: part)
    let isLow = percent(sum.regions) < limit
    failed = failed || isLow
    print(row(part, sum) + (isLow ? "  too low" : ""))
}

let missed = runs.filter { region, count in
    count == 0 && parts.contains { isInside(region.file, $0) }
}.keys.sorted { ($0.file, $0.start[0], $0.start[1]) < ($1.file, $1.start[0], $1.start[1]) }
if !missed.isEmpty { print("\nnot run by any test:") }
for region in missed {
    let lines = try String(contentsOfFile: root + region.file, encoding: .utf8)
        .split(separator: "\n", omittingEmptySubsequences: false)
    // The first line of the region's text that isn't empty.
    let texts = (region.start[0]...region.end[0]).map { number in
        let line = lines[number - 1].utf8
        return String(
            decoding: line.prefix(number == region.end[0] ? region.end[1] - 1 : line.count).dropFirst(
                number == region.start[0] ? region.start[1] - 1 : 0), as: UTF8.self
        )
        .trimmingCharacters(in: .whitespaces)
    }
    let text = texts.first { !$0.isEmpty && $0 != "{" } ?? ""
    print("\(region.file):\(region.start[0]):\(region.start[1]): \(text)")
}
exit(failed ? 1 : 0)
