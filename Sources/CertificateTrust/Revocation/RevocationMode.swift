/// How much is asked about revocation.
@nonexhaustive
public enum RevocationMode: Sendable, Hashable {
    /// Nothing is looked at.
    case ignore
    /// What is at hand decides: a certificate that is revoked is refused, and so is one about which a list or response
    /// is there that is stale, wrongly signed or malformed. Without any, a certificate passes, unless it demands a
    /// staple (RFC 7633).
    case use
    /// Every certificate below the anchor needs a list or response that says it is good.
    case require
}
