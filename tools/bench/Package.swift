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
    ]
)
