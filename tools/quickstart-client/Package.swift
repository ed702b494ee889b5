// swift-tools-version: 6.3
import PackageDescription

// A program outside the package, as a user's would be.
let package = Package(
    name: "quickstart-client",
    dependencies: [.package(name: "pinctl", path: "../..")],
    targets: [
        .executableTarget(
            name: "client", dependencies: [.product(name: "PinnedNetworking", package: "pinctl")])
    ]
)
