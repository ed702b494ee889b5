import CertificatePinning

extension [ConversionNote] {
    /// In the order of the file; what concerns the whole of it comes first.
    var inOrder: Self {
        sorted {
            ($0.location?.line ?? 0, $0.location?.column ?? 0) < ($1.location?.line ?? 0, $1.location?.column ?? 0)
        }
    }
}
