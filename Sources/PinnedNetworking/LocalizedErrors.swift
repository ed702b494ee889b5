// `localizedDescription` is what programs print. Foundation knows it of `URLError` by itself; the other errors that a
// program meets say the same there as in their description. They are here because the modules below know no Foundation.

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

extension TrustError: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}

extension ClientIdentityError: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}
