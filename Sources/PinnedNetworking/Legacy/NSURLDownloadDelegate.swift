/// Methods for a download. All are optional. They are called on a serial queue of the download.
public protocol NSURLDownloadDelegate: AnyObject, Sendable {
    /// Reports that the request is about to be sent.
    func downloadDidBegin(_ download: NSURLDownload)

    /// Returns whether stored credentials may be used and new ones stored. Called at the start. The default is true.
    func downloadShouldUseCredentialStorage(_ download: NSURLDownload) -> Bool

    /// Returns whether ``download(_:didReceive:)`` can answer for this space. If false, default handling applies.
    ///
    /// The default is false for server trust and client certificates, and true for everything else.
    func download(
        _ download: NSURLDownload, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool

    /// Receives a challenge for a credential if neither the URL nor the storage has one that wasn't refused. It must be
    /// answered through the challenge's sender, at once or later. By default, default handling applies and the request
    /// continues without a credential.
    func download(_ download: NSURLDownload, didReceive challenge: URLAuthenticationChallenge)

    /// Reports that the delegate cancelled a challenge. Called before the failure is reported.
    func download(_ download: NSURLDownload, didCancel challenge: URLAuthenticationChallenge)

    /// Chooses the destination when the body starts and there is none yet: call
    /// ``NSURLDownload/setDestination(_:allowOverwrite:)``. The suggested name comes from the server and never contains
    /// a slash.
    func download(_ download: NSURLDownload, decideDestinationWithSuggestedFilename filename: String)

    /// Reports the path that the file will have. It differs from the destination if that name was taken.
    func download(_ download: NSURLDownload, didCreateDestination path: String)

    /// Reports that the complete file is at its destination.
    func downloadDidFinish(_ download: NSURLDownload)

    /// Reports that the download failed, with a `URLError`. Nothing of the download is kept.
    func download(_ download: NSURLDownload, didFailWithError error: any Error)
}

extension NSURLDownloadDelegate {
    /// Does nothing by default.
    public func downloadDidBegin(_ download: NSURLDownload) {}

    /// Returns true by default.
    public func downloadShouldUseCredentialStorage(_ download: NSURLDownload) -> Bool { true }

    /// Returns false for server trust and client certificates by default, and true for everything else.
    public func download(
        _ download: NSURLDownload, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool {
        protectionSpace.isAnsweredUnlessRefused
    }

    /// Performs default handling if not implemented.
    public func download(_ download: NSURLDownload, didReceive challenge: URLAuthenticationChallenge) {
        challenge.sender?.performDefaultHandling(for: challenge)
    }

    /// Does nothing by default.
    public func download(_ download: NSURLDownload, didCancel challenge: URLAuthenticationChallenge) {}

    /// Does nothing by default. A download without a destination fails.
    public func download(_ download: NSURLDownload, decideDestinationWithSuggestedFilename filename: String) {}

    /// Does nothing by default.
    public func download(_ download: NSURLDownload, didCreateDestination path: String) {}

    /// Does nothing by default.
    public func downloadDidFinish(_ download: NSURLDownload) {}

    /// Does nothing by default.
    public func download(_ download: NSURLDownload, didFailWithError error: any Error) {}
}
