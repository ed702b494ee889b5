package import PinctlFoundation

/// A summary of what an OCSP response says about a certificate, found by its serial number. The signer isn't checked.
package struct StapleSummary: Sendable, Hashable {
    /// `good`, `revoked`, `unknown`, or `about another certificate`.
    package let status: String
    package let thisUpdate: Date?
    /// The end of the response's validity. `nil` if the response doesn't state it.
    package let nextUpdate: Date?

    package init(_ response: [UInt8], of leaf: X509Certificate) throws(DERError) {
        let parsed = try OCSPResponse(derBytes: response)
        guard let single = parsed.singles.first(where: { $0.serialNumber == leaf.serialNumber }) else {
            (status, thisUpdate, nextUpdate) = ("about another certificate", nil, nil)
            return
        }
        status =
            switch single.status {
            case .good: "good"
            case .revoked: "revoked"
            case .unknown: "unknown"
            }
        thisUpdate = Date(timeIntervalSince1970: Double(single.thisUpdate))
        nextUpdate = single.nextUpdate.map { Date(timeIntervalSince1970: Double($0)) }
    }
}
