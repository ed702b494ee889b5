// swift-tools-version: 6.3
import PackageDescription

// Layers point down; the drawing and its reasons are on the design page,
// Sources/CertificateTrust/CertificateTrust.docc/Design.md. This is the list of modules: tools/layers lets each import
// what it depends on here, and requires that the page describes it.

// A warning is an error with the compiler that the project is tested with. A later one has warnings of its own, and
// other versions of the system's headers deprecate other functions: neither may break anyone's build.
#if compiler(<6.4)
let warnings: [SwiftSetting] = [
    .treatAllWarnings(as: .error), .treatWarning("DeprecatedDeclaration", as: .warning),
]
#else
let warnings: [SwiftSetting] = []
#endif

let strict: [SwiftSetting] =
    warnings + [
        .swiftLanguageMode(.v6),
        .strictMemorySafety(),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
    ]

// PinnedNetworking goes without this one: with it, a delegate that is bound to
// the main actor does not compile.
let modern = strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let package = Package(
    name: "pinctl",
    // The first with InlineArray. It says nothing about Linux.
    platforms: [.macOS(.v26)],
    products: [
        .library(name: "CertificateTrust", targets: ["CertificateTrust"]),
        .library(name: "CertificatePinning", targets: ["CertificatePinning"]),
        .library(name: "PinDialects", targets: ["PinDialects"]),
        .library(name: "PinnedNetworking", targets: ["PinnedNetworking"]),
        .library(name: "PolicyUpdates", targets: ["PolicyUpdates"]),
        .executable(name: "pinctl", targets: ["pinctl"]),
    ],
    targets: [
        // Without pkg-config, which SwiftPM would miss on a bare machine: the header says what to install.
        .systemLibrary(name: "CPinctlOpenSSL"),
        .systemLibrary(name: "CPinctlLinux"),
        .systemLibrary(name: "CPinctlBuild"),
        .target(name: "PinctlLibC", swiftSettings: modern),
        .target(name: "PinctlFoundation", swiftSettings: modern),
        .target(name: "OpenSSLBridge", dependencies: ["CPinctlOpenSSL", "PinctlLibC"], swiftSettings: modern),
        .target(name: "PinctlBasics", dependencies: ["PinctlLibC", "PinctlFoundation"], swiftSettings: modern),
        .target(
            name: "CertificateTrust",
            dependencies: ["PinctlBasics", "PinctlLibC", "OpenSSLBridge", "PinctlFoundation"],
            // A link to the one in pins/, like the schema below.
            resources: [.embedInCode("public-roots.jsonc")],
            swiftSettings: modern),
        .target(
            name: "CertificatePinning", dependencies: ["PinctlBasics", "CertificateTrust", "PinctlFoundation"],
            // A link to the one in pins/, like the schemas below.
            resources: [.embedInCode("providers.jsonc")],
            swiftSettings: modern),
        .target(
            name: "PinDialects",
            dependencies: ["PinctlBasics", "CertificatePinning", "CertificateTrust", "PinctlFoundation"],
            swiftSettings: modern),
        .target(name: "PinctlHTTPMessages", dependencies: ["PinctlBasics", "CertificateTrust"], swiftSettings: modern),
        .target(
            name: "PinctlTLSTransport",
            dependencies: [
                "PinctlBasics", "CertificateTrust", "PinctlHTTPMessages", "PinctlLibC", "OpenSSLBridge", "CPinctlLinux",
            ],
            swiftSettings: modern),
        .target(name: "PinctlGSSAPI", dependencies: ["PinctlLibC", "CPinctlLinux"], swiftSettings: modern),
        .target(name: "PinctlZlib", dependencies: ["PinctlLibC", "CPinctlLinux"], swiftSettings: modern),
        .target(
            name: "PinnedNetworking",
            dependencies: [
                "PinctlBasics", "CertificatePinning", "CertificateTrust", "PinctlHTTPMessages", "PinctlGSSAPI",
                "PinctlZlib",
                "PinctlTLSTransport",
            ],
            swiftSettings: strict),
        .target(
            name: "PolicyUpdates",
            dependencies: ["PinctlBasics", "CertificatePinning", "PinnedNetworking", "PinctlTLSTransport"],
            swiftSettings: strict),
        .target(
            name: "PinctlCommands",
            dependencies: [
                "PinctlBasics", "CertificatePinning", "CertificateTrust", "PinctlLibC", "PinDialects",
                "PinctlFoundation",
                "PinctlTLSTransport",
            ],
            // Links to those in pins/; in the program itself, so that it runs without a directory beside it.
            resources: [.embedInCode("policy.schema.json"), .embedInCode("results.schema.json")],
            swiftSettings: modern),
        .executableTarget(name: "pinctl", dependencies: ["CPinctlBuild", "PinctlCommands"], swiftSettings: modern),

        .target(
            name: "PinctlTestPKI", dependencies: ["CPinctlOpenSSL"], path: "Tests/PinctlTestPKI",
            swiftSettings: modern),
        // The public suites' cases; tools/conformance reaches it too.
        .target(
            name: "PinctlConformanceSuite", dependencies: ["CertificateTrust"], path: "Tests/PinctlConformanceSuite",
            swiftSettings: modern),
        .testTarget(name: "PinctlBasicsTests", dependencies: ["PinctlBasics", "PinctlTestPKI"], swiftSettings: modern),
        .testTarget(
            name: "CertificateTrustTests",
            dependencies: [
                "PinctlBasics", "CertificateTrust", "OpenSSLBridge", "PinctlTestPKI", "PinctlConformanceSuite",
            ],
            swiftSettings: modern),
        .testTarget(
            name: "CertificatePinningTests",
            dependencies: ["PinctlBasics", "CertificatePinning", "CertificateTrust", "PinDialects", "PinctlTestPKI"],
            swiftSettings: modern),
        .testTarget(
            name: "PinDialectsTests",
            dependencies: ["PinctlBasics", "PinDialects", "CertificatePinning", "CertificateTrust", "PinctlTestPKI"],
            // Run by the tests beside the libraries that they ask.
            exclude: ["Peers"],
            swiftSettings: modern),
        .testTarget(
            name: "PinctlHTTPMessagesTests", dependencies: ["PinctlBasics", "PinctlHTTPMessages", "CertificateTrust"],
            swiftSettings: modern),
        .testTarget(
            name: "PinctlTLSTransportTests",
            dependencies: [
                "PinctlBasics", "PinctlTLSTransport", "CertificateTrust", "PinctlHTTPMessages", "OpenSSLBridge",
                "PinctlTestPKI",
            ],
            swiftSettings: modern),
        .testTarget(
            name: "PinnedNetworkingTests",
            dependencies: [
                "PinctlBasics", "PinnedNetworking", "CertificatePinning", "CertificateTrust", "PinctlHTTPMessages",
                "PinctlGSSAPI",
                "PinctlZlib",
                "PinctlTLSTransport",
                "PinctlTestPKI",
            ],
            // Compiled or read by the tests themselves.
            exclude: ["Listings/Programs", "Listings/ArticleRows.txt"], swiftSettings: strict),
        .testTarget(
            name: "PolicyUpdatesTests",
            dependencies: [
                "PolicyUpdates", "PinnedNetworking", "CertificatePinning", "CertificateTrust", "PinctlTestPKI",
            ],
            swiftSettings: strict),
        // The one that starts installed servers.
        .testTarget(
            name: "PeerTests",
            dependencies: [
                "PinctlBasics", "PinnedNetworking", "PinctlCommands", "PinctlTLSTransport", "CertificatePinning",
                "CertificateTrust", "PinDialects",
                "PinctlTestPKI",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PinctlTests",
            dependencies: [
                "PinctlBasics", "PinctlCommands", "pinctl", "CertificatePinning", "CertificateTrust", "PinDialects",
                "PinctlTLSTransport",
                "PinctlTestPKI",
            ],
            // Run by the tests themselves.
            exclude: ["Scripts"],
            swiftSettings: modern),
        // What tools/fuzz feeds, with its seeds.
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "PinctlBasics", "PinnedNetworking", "PinctlCommands", "PinctlTLSTransport", "PinctlHTTPMessages",
                "CertificatePinning", "CertificateTrust", "OpenSSLBridge", "PinDialects", "PinctlTestPKI",
            ],
            path: "tools/fuzz/Sources/fuzz", exclude: ["main.swift", "System/LibFuzzer.swift"],
            swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)]),
    ]
)

// Only for tools/fuzz, a package of its own that checks plans. Programs get no such product.
if Context.environment["PINCTL_FUZZ"] == "yes" {
    package.products.append(.library(name: "PinctlCommands", targets: ["PinctlCommands"]))
}
