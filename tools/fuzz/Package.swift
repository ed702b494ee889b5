// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "pinctl", path: "../..")],
    targets: [
        // Most of what it calls isn't a product, and is imported with @testable: build it with
        // -Xswiftc -enable-testing and PINCTL_FUZZ=yes, as tools/fuzz/run does. The same script says how it is built
        // with coverage.
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CLibFuzzer", "PinctlTestPKI",
                .product(name: "CertificatePinning", package: "pinctl"),
                .product(name: "CertificateTrust", package: "pinctl"),
                .product(name: "PinDialects", package: "pinctl"),
                .product(name: "PinctlCommands", package: "pinctl"),
                .product(name: "PinnedNetworking", package: "pinctl"),
            ],
            // A test of the project, in which all other files are built too.
            exclude: ["SeedTests.swift"],
            swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)]),
        .systemLibrary(name: "CLibFuzzer"),
        // A link to what mints the certificates of the project's tests, which isn't a product. PinctlTestPKI imports
        // CPinctlOpenSSL, whose module map comes with the library.
        .target(name: "PinctlTestPKI", dependencies: [.product(name: "CertificateTrust", package: "pinctl")]),
    ]
)
