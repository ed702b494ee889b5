/// The extent of the revocation check.
@nonexhaustive
public enum RevocationMode: Sendable, Hashable {
    /// Revocation isn't checked.
    case ignore
    /// The available evidence decides. A certificate is rejected if it is revoked, or if a list or response about it is
    /// stale, wrongly signed or malformed. A certificate without evidence is accepted, unless it requires a stapled
    /// response (RFC 7633).
    case use
    /// Every certificate below the anchor needs a list or response that says it is good.
    case require
}
