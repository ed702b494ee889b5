import PinctlHTTPMessages
import PinctlTLSTransport

extension URLError {
    /// The key in `userInfo` for the `PinningError` of a server that was refused. See ``pinningError``.
    public static let pinningErrorKey = "PinnedNetworking.PinningError"

    /// The reason why the server was refused: its chain isn't trusted, or the policy refuses it. `nil` for other
    /// failures, also when a delegate refused the server.
    public var pinningError: PinningError? {
        (errorUserInfo[Self.pinningErrorKey] as? PinningError)?.summarized(false)
    }

    /// Creates the error of a failed request from any reason. The text is that of the reason.
    ///
    /// `print(error)` prints the failure reason, and then all of this information. So the text is whole only once, and
    /// the failure reason is its first line.
    init(_ reason: any Error, url: URL?) {
        let refusal = reason as? ServerTrustRefusal
        let text = "\(reason)"
        var information: [String: Any] = [
            NSLocalizedDescriptionKey: text, NSUnderlyingErrorKey: refusal?.summarized ?? reason,
            NSLocalizedFailureReasonErrorKey: String(text.prefix { $0 != "\n" }),
        ]
        if let url = url?.withoutUser {
            information[NSURLErrorFailingURLErrorKey] = url
            // NSURLErrorFailingURLStringErrorKey, which is deprecated, but `failureURLString` still reads it.
            information["NSErrorFailingURLStringKey"] = url.absoluteString
        }
        if let error = refusal?.pinningError { information[Self.pinningErrorKey] = error.summarized(true) }
        self.init(Code(reason), userInfo: information)
    }
}

extension URL {
    /// The URL without user name and password, which must not be printed. `nil` if the URL can't be parsed.
    var withoutUser: URL? {
        guard user() != nil || password() != nil else { return self }
        var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
        components?.user = nil
        components?.password = nil
        return components?.url
    }
}

// MARK: Codes

extension URLError.Code {
    fileprivate init(_ reason: any Error) {
        switch reason {
        case let reason as RequestTargetError: self.init(reason)
        case let reason as WebSocketHandshakeError: self.init(reason)
        case let reason as WebSocketError:
            if case .messageTooBig = reason { self = .dataLengthExceedsMaximum } else { self = .cannotParseResponse }
        case is WebSocketEndError: self = .networkConnectionLost
        case is HTTPRequestError, is ProxyDomainError, is ProxyDictionaryError, is ProxyVariableError, is DataURLError:
            self = .badURL
        case let reason as FTPError: self.init(reason)
        case let reason as WorkLimit.End: self.init(reason)
        case let reason as TransportError: self.init(reason)
        case let reason as ServerTrustRefusal: self.init(reason)
        case let reason as RedirectionError: self = reason.code
        case let reason as HTTPResponseError: self.init(reason)
        case let reason as ContentCodingError: self = reason.code
        case let reason as ProxyRefusal:
            self = reason.statusCode == 407 ? .userAuthenticationRequired : .cannotConnectToHost
        case let reason as IdentityRefused:
            self = reason.refusal == .missing ? .clientCertificateRequired : .clientCertificateRejected
        case is ClientIdentityError: self = .clientCertificateRejected
        case let reason as AuthenticationError: self.init(reason)
        case let reason as RequestBodyError: self = reason.code
        case let reason as DownloadError: self = reason.code
        case is NothingCachedError: self = .resourceUnavailable
        case let reason as ProtocolLoadError: self = reason.code
        case is TrustStoreError: self = .secureConnectionFailed
        case is CancelledChallenge, is CancellationError, is InvalidSessionError: self = .cancelled
        default: self = .unknown
        }
    }

    private init(_ reason: RequestTargetError) {
        switch reason {
        case .noURL, .noHost, .backslashInAuthority, .malformedHost, .noPort, .malformedLogin, .malformedFTP:
            self = .badURL
        case .unsupportedScheme: self = .unsupportedURL
        case .pinnedCleartext: self = .appTransportSecurityRequiresSecureConnection
        }
    }

    private init(_ reason: WebSocketHandshakeError) {
        switch reason {
        case .malformedProtocol, .repeatedProtocol: self = .badURL
        case .refused, .otherUpgrade, .wrongAccept, .unrequestedExtension, .unrequestedProtocol:
            self = .badServerResponse
        }
    }

    private init(_ reason: WorkLimit.End) {
        switch reason {
        case .cancelled: self = .cancelled
        case .stalled, .overlong: self = .timedOut
        }
    }

    private init(_ reason: TransportError) {
        switch reason {
        case .unresolvable, .noAddress: self = .cannotFindHost
        case .relayRefused(_, .noMethod), .relayRefused(_, .refusedLogin): self = .userAuthenticationRequired
        case .relayRefused: self = .cannotConnectToHost
        case .timedOut: self = .timedOut
        case .unreachable, .exhausted, .tunnelRefused: self = .cannotConnectToHost
        case .startTLSNotOffered, .startTLSRefused, .startTLSNeedless, .startTLSUnreadable, .handshakeFailed, .notTLS,
            .otherVersion, .offerRejected, .otherKey, .lostDuringHandshake, .protocolFailure:
            self = .secureConnectionFailed
        case .unreadableCertificates, .foreignPath: self = .serverCertificateUntrusted
        case .truncated, .lost, .closed: self = .networkConnectionLost
        case .cancelled: self = .cancelled
        }
    }

    private init(_ reason: ServerTrustRefusal) {
        switch reason {
        case .cancelled: self = .cancelled
        case .refused(.untrusted(let finding), _, _, _):
            switch finding.rule {
            case .expired: self = .serverCertificateHasBadDate
            case .notYetValid: self = .serverCertificateNotYetValid
            case .unknownIssuer: self = .serverCertificateHasUnknownRoot
            case .outOfMemory: self = .secureConnectionFailed
            default: self = .serverCertificateUntrusted
            }
        case .rejected, .foreignCredential, .refused: self = .serverCertificateUntrusted
        case .refusedByProcess(let reason), .proxyRefused(_, _, let reason): self.init(reason)
        }
    }

    private init(_ reason: AuthenticationError) {
        switch reason {
        case .cancelled: self = .cancelled
        case .unusableCredential: self = .userAuthenticationRequired
        case .forgedResponse, .unprovenServer: self = .badServerResponse
        }
    }

    private init(_ reason: HTTPResponseError) {
        switch reason {
        case .truncated: self = .networkConnectionLost
        case .bodyTooLarge: self = .dataLengthExceedsMaximum
        case .otherPart: self = .badServerResponse
        default: self = .cannotParseResponse
        }
    }
}
