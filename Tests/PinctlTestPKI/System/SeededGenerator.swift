import Glibc

/// A generator that returns the same numbers for the same seed (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// The size of the tests that compare an implementation with a specification.
package struct SpecificationSize {
    /// The number of random cases.
    package let cases: Int
    /// Whether the exhaustive part is the larger one, which takes minutes.
    package let isFull: Bool

    /// Reads the number of random cases from the environment variable `PINCTL_TEST_CASES`. With it, the exhaustive part
    /// is the larger one as well.
    package init(usual: Int) {
        let chosen = unsafe getenv("PINCTL_TEST_CASES").flatMap { unsafe Int(String(cString: $0)) }
        cases = chosen ?? usual
        isFull = chosen != nil
    }
}
