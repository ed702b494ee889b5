// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .strictMemorySafety(), .treatAllWarnings(as: .error), .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
    name: "conformance",
    products: [.executable(name: "limbo-harness", targets: ["limbo-harness"])],
    dependencies: [.package(name: "pinctl", path: "../..")],
    targets: [
        // A link to Tests/PinctlConformanceSuite: the project's own tests evaluate the same cases the same way, and
        // what both need is no product that the project should offer.
        .target(
            name: "PinctlConformanceSuite", dependencies: [.product(name: "CertificateTrust", package: "pinctl")],
            swiftSettings: settings),
        .executableTarget(name: "limbo-harness", dependencies: ["PinctlConformanceSuite"], swiftSettings: settings),
        .executableTarget(name: "conformance-table", dependencies: ["PinctlConformanceSuite"], swiftSettings: settings),
    ]
)
