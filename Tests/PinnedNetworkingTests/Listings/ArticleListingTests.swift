import Foundation
import PinctlTestPKI
import Testing

/// The Swift listings of articles, as a program that sees only public declarations.
@Suite(.timeLimit(.minutes(10)))
struct ArticleListingTests {
    /// The listings of an article, in order.
    private static func listings(_ article: String) throws -> [String] {
        let path = "\(Repository.root)/Sources/PinnedNetworking/PinnedNetworking.docc/\(article).md"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return text.components(separatedBy: "```swift\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
    }

    @Test("The listings of articles compile without warnings", arguments: ["PinTheProcess", "MixedPrograms"])
    func compile(article: String) async throws {
        let listings = try Self.listings(article)
        let programs = listings.filter { $0.contains("@main") }
        #expect(!listings.isEmpty && programs.count < 2)
        let statements = listings.filter { !$0.contains("@main") }
        var text = "import PinnedNetworking\n"
        for (index, listing) in statements.enumerated() {
            text += "func listing\(index)() async throws {\n\(listing)}\n"
        }
        let main = programs.first ?? "@main struct Main { static func main() {} }"
        let directory = try TestDirectory()
        let files = [try directory.add(text, name: "Listings.swift"), try directory.add(main, name: "Program.swift")]
        let result = try await TestBuild.compile(
            files, with: CompiledProgram.modules, options: ["-parse-as-library"], to: directory.path + "/program")
        #expect(result.status == 0, "\(article): \(result.text)")
    }
}
