// swift-tools-version: 6.3
import PackageDescription

let strict: [SwiftSetting] = [.strictMemorySafety(), .treatAllWarnings(as: .error)]

let package = Package(
    name: "bench",
    dependencies: [.package(name: "pinctl", path: "../..")],
    targets: [
        .target(name: "CBaseline", linkerSettings: [.linkedLibrary("crypto")]),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CBaseline", .product(name: "CertificateTrust", package: "pinctl"),
                .product(name: "CertificatePinning", package: "pinctl"),
            ],
            swiftSettings: strict),
        .executableTarget(name: "hash-c", linkerSettings: [.linkedLibrary("crypto")]),
        .executableTarget(name: "runner"),
        // A network that is far away.
        .executableTarget(name: "delay"),
        // The same requests through this project's URLSession and through Foundation's.
        .executableTarget(
            name: "client", dependencies: [.product(name: "PinnedNetworking", package: "pinctl")],
            swiftSettings: strict),
        .executableTarget(name: "foundation-client", swiftSettings: strict + [.define("FOUNDATION")]),
        // Links to the chains of the project's tests and to what mints them, which are no products. PinctlTestPKI
        // imports CPinctlOpenSSL, whose module map comes with the library.
        .target(name: "PinctlTestPKI", dependencies: [.product(name: "CertificateTrust", package: "pinctl")]),
        .executableTarget(
            name: "mint", dependencies: ["PinctlTestPKI", .product(name: "CertificateTrust", package: "pinctl")]),
    ]
)
