// Lists the public declarations without a doc comment in the symbol graphs it is given, one a line.
import Foundation

struct SymbolGraph: Decodable {
    var symbols: [Symbol]
}

struct Symbol: Decodable {
    var pathComponents: [String]
    var docComment: DocComment?
    var location: Location?

    struct DocComment: Decodable {}
    struct Location: Decodable {
        var uri: String
        var position: Position
    }
    struct Position: Decodable {
        var line: Int
    }
}

for path in CommandLine.arguments.dropFirst() {
    let data = try Data(contentsOf: URL(filePath: path))
    // A symbol without a place in the sources is one the compiler made, such as a memberwise `==`.
    for symbol in try JSONDecoder().decode(SymbolGraph.self, from: data).symbols where symbol.docComment == nil {
        guard let location = symbol.location, let file = URL(string: location.uri)?.path() else { continue }
        print("\(file):\(location.position.line + 1): \(symbol.pathComponents.joined(separator: "."))")
    }
}
