/// The ways in which a descriptor is ready.
struct Readiness: OptionSet, Sendable {
    let rawValue: UInt32
    /// There are bytes, an end or an error to read.
    static let reading = Readiness(rawValue: 1)
    /// There is room to write, or an error.
    static let writing = Readiness(rawValue: 2)
    /// The peer closed its sending direction. There may be bytes left to read before the end.
    static let hangUp = Readiness(rawValue: 4)
}
