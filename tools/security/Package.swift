// swift-tools-version: 6.3
import PackageDescription

// A package of its own, which a program opts into: with a module of this name in their graph, packages that ask
// `canImport(Security)` take their code paths for Apple's platforms, whether they depend on it or not.

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error), .treatWarning("DeprecatedDeclaration", as: .warning),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "security",
    platforms: [.macOS(.v26)],
    products: [.library(name: "Security", targets: ["Security"])],
    dependencies: [.package(name: "pinctl", path: "../..")],
    targets: [
        .target(
            name: "Security", dependencies: [.product(name: "PinnedNetworking", package: "pinctl")],
            swiftSettings: strict),
        // A link to what mints certificates and runs servers in the project's tests, which is no product. It imports
        // CPinctlOpenSSL, whose module map comes with the library.
        .target(name: "PinctlTestPKI", dependencies: [.product(name: "CertificateTrust", package: "pinctl")]),
        .testTarget(
            name: "SecurityTests",
            dependencies: ["Security", "PinctlTestPKI", .product(name: "PinnedNetworking", package: "pinctl")],
            swiftSettings: strict),
    ]
)
