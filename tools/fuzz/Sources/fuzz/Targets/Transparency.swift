@testable import CertificateTrust

extension FuzzTarget {
    /// A SignedCertificateTimestampList, as a server sends it.
    static let timestamps = FuzzTarget(name: "timestamps") { bytes in
        guard let list = TimestampList(bytes.span) else { return }
        precondition((1...TimestampList.maximumCount).contains(list.elements.count))
        for case .timestamp(let timestamp) in list.elements {
            precondition(timestamp.logID.count == 32 && timestamp.signature.count < bytes.count)
            // What is signed has the time, which may be any, and the extensions.
            let data = LoggedEntry.precertificate(signedPart: [], issuerKeyHash: []).signedData(timestamp)
            precondition(data.count == 17 + timestamp.extensions.count)
            _ = timestamp.date
        }
    }

    /// A list of logs in Google's format.
    static let logList = FuzzTarget(name: "loglist") { bytes in
        guard let list = try? TransparencyLogList(json: bytes) else { return }
        precondition((1...TransparencyLogList.maximumLogs).contains(list.logCount))
        precondition(list.end > list.published)
    }
}
