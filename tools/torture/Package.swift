// swift-tools-version: 6.3
import PackageDescription

let strict: [SwiftSetting] = [.strictMemorySafety(), .treatAllWarnings(as: .error)]

let package = Package(
    name: "torture",
    dependencies: [.package(name: "pinctl", path: "../..")],
    targets: [
        // The program under test that uses the client, as pinctl is the one for the commands.
        .executableTarget(
            name: "client", dependencies: [.product(name: "PinnedNetworking", package: "pinctl")],
            swiftSettings: strict),
        // A link to what mints the chains and serves them, which is no product. PinctlTestPKI imports CPinctlOpenSSL,
        // whose module map comes with the library.
        .target(name: "PinctlTestPKI", dependencies: [.product(name: "CertificateTrust", package: "pinctl")]),
        .executableTarget(
            name: "torture", dependencies: ["PinctlTestPKI", .product(name: "CertificateTrust", package: "pinctl")],
            swiftSettings: strict),
    ]
)
