// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "pinctl", path: "../..")],
    targets: [
        // Machines are links to files of Sources: they stand by themselves, and are no product of the project.
        .executableTarget(
            name: "fuzz",
            dependencies: [
                .product(name: "CertificatePinning", package: "pinctl"),
                .product(name: "CertificateTrust", package: "pinctl"),
                .product(name: "PinDialects", package: "pinctl"),
            ],
            swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)])
    ]
)
