// Programs print `localizedDescription`. Foundation provides it for `URLError`. For the other errors that a program can
// receive, it is their description. The conformances are in this module because the lower modules don't import
// Foundation.

extension PolicyFileError: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}

extension PolicyError: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}

extension PinTextError: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}

extension PinningError: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}

extension PinningExpiryError: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}

extension ServerNameError: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}

extension TrustStoreError: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}

extension TrustFinding: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}

extension ClientIdentityError: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}
