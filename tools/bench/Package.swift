// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "bench",
    dependencies: [.package(name: "pinctl", path: "../..")],
    targets: [
        .target(name: "CBaseline", linkerSettings: [.linkedLibrary("crypto")]),
        .executableTarget(
            name: "bench",
            dependencies: ["CBaseline", .product(name: "CertificateTrust", package: "pinctl")],
            swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)]),
        .executableTarget(name: "hash-c", linkerSettings: [.linkedLibrary("crypto")]),
        .executableTarget(name: "runner"),
        // Links to the chains of the project's tests and to what mints them, which are no products. TestPKI imports
        // COpenSSL, whose module map comes with the library.
        .target(name: "TestPKI", dependencies: [.product(name: "CertificateTrust", package: "pinctl")]),
        .executableTarget(
            name: "mint", dependencies: ["TestPKI", .product(name: "CertificateTrust", package: "pinctl")]),
    ]
)
