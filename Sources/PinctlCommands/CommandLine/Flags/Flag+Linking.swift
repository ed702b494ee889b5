/// Flags for programs that are built with PinnedNetworking in the place of FoundationNetworking.
extension Flag {
    static let configuration = Flag(
        "configuration", short: "c", value: .choice("NAME", ["debug", "release"]),
        "print the flags for this configuration, one of them (default: debug)")
    static let staticLibrary = Flag(
        "static-swift-stdlib", "print the flags for a program that contains the Swift runtime, with this one")
    static let prefix = Flag(
        "prefix", value: .directory("DIR"), "use the modules in DIR (default: lib/pinctl/swift beside pinctl)")
    static let checkLinked = Flag(
        "check",
        "print no flags, and exit with 1 if a BINARY links FoundationNetworking, or doesn't contain "
            + "PinnedNetworking")
}
