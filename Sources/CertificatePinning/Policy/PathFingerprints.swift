import CertificateTrust

/// The certificates of a path, with the fingerprints of the certificate that pins are compared with at the moment. Each
/// is computed once for all pins.
struct PathFingerprints<Pin: DecidingPin> {
    private let certificates: [X509Certificate]
    private var index = 0
    /// The fingerprints of the certificate at ``index``. There are as many as kinds of pins, which are few.
    private var known: [(kind: Pin.Kind, value: Pin.Value?)] = []

    init(_ certificates: [X509Certificate]) { self.certificates = certificates }

    /// Returns whether a pin is that of the certificate at an index, or of its key.
    mutating func hasMatch(_ pin: Pin, at index: Int) -> Bool {
        if index != self.index {
            self.index = index
            known.removeAll(keepingCapacity: true)
        }
        let kind = pin.kind
        let found: Pin.Value?
        if let entry = known.first(where: { $0.kind == kind }) {
            found = entry.value
        } else {
            found = Pin.value(of: certificates[index], kind)
            known.append((kind, found))
        }
        // mutant pin-fingerprint: true by PinDecisionTests PinEvaluationAttackTests
        return found == pin.value
    }
}
