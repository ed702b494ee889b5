/// Methods about a download. None has to be implemented; they are called on a serial queue of the download's own.
public protocol NSURLDownloadDelegate: AnyObject, Sendable {
    /// Told that the request is about to be sent.
    func downloadDidBegin(_ download: NSURLDownload)

    /// Asked at the start whether stored credentials may be used, and new ones stored; yes unless implemented.
    func downloadShouldUseCredentialStorage(_ download: NSURLDownload) -> Bool

    /// Whether ``download(_:didReceive:)`` can answer for this space; after a no default handling decides.
    ///
    /// Unless implemented it is no for server trust and client certificates, and yes for all else.
    func download(
        _ download: NSURLDownload, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool

    /// Asked for a credential when neither the URL nor the storage has one that is not refused: answer through the
    /// challenge's sender, at once or later. Unless implemented default handling decides, and the request goes on
    /// without a credential.
    func download(_ download: NSURLDownload, didReceive challenge: URLAuthenticationChallenge)

    /// Told of a challenge that the delegate has cancelled, before it is told of the failure.
    func download(_ download: NSURLDownload, didCancel challenge: URLAuthenticationChallenge)

    /// Asked when the body begins and there is no destination yet: call
    /// ``NSURLDownload/setDestination(_:allowOverwrite:)``. The name is the server's word, and has no slash.
    func download(_ download: NSURLDownload, decideDestinationWithSuggestedFilename filename: String)

    /// Told of the path that the file will have: another than the destination where that was taken.
    func download(_ download: NSURLDownload, didCreateDestination path: String)

    /// Told that the file is whole and at its place.
    func downloadDidFinish(_ download: NSURLDownload)

    /// Told of the end of a download that failed, with a `URLError`: nothing is left of it.
    func download(_ download: NSURLDownload, didFailWithError error: any Error)
}

extension NSURLDownloadDelegate {
    /// Stands for a method that is not implemented: nobody hears of it.
    public func downloadDidBegin(_ download: NSURLDownload) {}

    /// Stands for a method that is not implemented: yes.
    public func downloadShouldUseCredentialStorage(_ download: NSURLDownload) -> Bool { true }

    /// Stands for a method that is not implemented: no for server trust and client certificates, yes for all else.
    public func download(
        _ download: NSURLDownload, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool {
        protectionSpace.isAnsweredUnlessRefused
    }

    /// Stands for a method that is not implemented: default handling decides.
    public func download(_ download: NSURLDownload, didReceive challenge: URLAuthenticationChallenge) {
        challenge.sender?.performDefaultHandling(for: challenge)
    }

    /// Stands for a method that is not implemented: nobody hears of it.
    public func download(_ download: NSURLDownload, didCancel challenge: URLAuthenticationChallenge) {}

    /// Stands for a method that is not implemented: a download without a destination fails.
    public func download(_ download: NSURLDownload, decideDestinationWithSuggestedFilename filename: String) {}

    /// Stands for a method that is not implemented: nobody hears of it.
    public func download(_ download: NSURLDownload, didCreateDestination path: String) {}

    /// Stands for a method that is not implemented: nobody hears of it.
    public func downloadDidFinish(_ download: NSURLDownload) {}

    /// Stands for a method that is not implemented: nobody hears of it.
    public func download(_ download: NSURLDownload, didFailWithError error: any Error) {}
}
