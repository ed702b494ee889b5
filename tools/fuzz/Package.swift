// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "pinctl", path: "../..")],
    targets: [
        // What it feeds is no product for the most part, and imported with @testable: build it with
        // -Xswiftc -enable-testing, as tools/fuzz/run does.
        .executableTarget(
            name: "fuzz",
            dependencies: [
                .product(name: "CertificatePinning", package: "pinctl"),
                .product(name: "CertificateTrust", package: "pinctl"),
                .product(name: "PinDialects", package: "pinctl"),
                .product(name: "PinnedNetworking", package: "pinctl"),
            ],
            swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)])
    ]
)
