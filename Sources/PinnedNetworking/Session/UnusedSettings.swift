public import Foundation
import PinctlBasics

/// Settings of requests and configurations that Apple's systems use and nothing here does. They are stored, so that
/// code which sets them compiles and reads back what it set.
struct UnusedSettings: Sendable, Hashable {
    var networkServiceType = URLRequest.NetworkServiceType.default
    var allowsCellularAccess = true
    var allowsExpensiveNetworkAccess = true
    var allowsConstrainedNetworkAccess = true
    var usesPipelining = false
}

/// The same for tasks.
struct UnusedTaskSettings: Sendable {
    var earliestBeginDate: Date?
    var bytesExpectedToSend = NSURLSessionTransferSizeUnknown
    var bytesExpectedToReceive = NSURLSessionTransferSizeUnknown
}

extension URLRequest {
    /// The purpose of a request's traffic.
    ///
    /// The cases are FoundationNetworking's, so that a `switch` over them is exhaustive.
    public enum NetworkServiceType: UInt, Sendable {
        /// Ordinary traffic.
        case `default` = 0
        /// Voice over IP, by an older interface.
        case voip = 1
        /// Video.
        case video = 2
        /// Traffic that the user doesn't wait for.
        case background = 3
        /// Voice.
        case voice = 4
        /// Calls being set up.
        case networkServiceTypeCallSignaling = 11

        /// Apple's name of ``networkServiceTypeCallSignaling``.
        public static let callSignaling = networkServiceTypeCallSignaling

        /// Unavailable: FoundationNetworking doesn't have it either.
        @available(
            *, unavailable, message: "FoundationNetworking doesn't have it either, and it has no effect: use default"
        )
        case responsiveData = 6
        /// Unavailable: FoundationNetworking doesn't have it either.
        @available(
            *, unavailable, message: "FoundationNetworking doesn't have it either, and it has no effect: use video"
        )
        case avStreaming = 8
        /// Unavailable: FoundationNetworking doesn't have it either.
        @available(
            *, unavailable, message: "FoundationNetworking doesn't have it either, and it has no effect: use video"
        )
        case responsiveAV = 9
    }

    /// The purpose of the traffic. It is stored but has no effect.
    public var networkServiceType: NetworkServiceType {
        get { unused.networkServiceType }
        set { unused.networkServiceType = newValue }
    }

    /// Whether a cellular connection may be used. It is stored but has no effect: the system routes connections.
    public var allowsCellularAccess: Bool {
        get { unused.allowsCellularAccess }
        set { unused.allowsCellularAccess = newValue }
    }

    /// Whether an expensive connection may be used. It is stored but has no effect.
    public var allowsExpensiveNetworkAccess: Bool {
        get { unused.allowsExpensiveNetworkAccess }
        set { unused.allowsExpensiveNetworkAccess = newValue }
    }

    /// Whether a connection in low-data mode may be used. It is stored but has no effect.
    public var allowsConstrainedNetworkAccess: Bool {
        get { unused.allowsConstrainedNetworkAccess }
        set { unused.allowsConstrainedNetworkAccess = newValue }
    }

    /// Whether requests may be pipelined. It is stored but has no effect: each connection has one request at a time.
    public var httpShouldUsePipelining: Bool {
        get { unused.usesPipelining }
        set { unused.usesPipelining = newValue }
    }
}

extension URLSessionTask {
    /// The time before which a task of a background session doesn't start. It is stored but has no effect, since there
    /// are no background sessions.
    public var earliestBeginDate: Date? {
        get { status.withLock { $0.unused.earliestBeginDate } }
        set { status.withLock { $0.unused.earliestBeginDate = newValue } }
    }

    /// The number of bytes that the program expects to send. It is stored but has no effect.
    public var countOfBytesClientExpectsToSend: Int64 {
        get { status.withLock { $0.unused.bytesExpectedToSend } }
        set { status.withLock { $0.unused.bytesExpectedToSend = newValue } }
    }

    /// The number of bytes that the program expects to receive. It is stored but has no effect.
    public var countOfBytesClientExpectsToReceive: Int64 {
        get { status.withLock { $0.unused.bytesExpectedToReceive } }
        set { status.withLock { $0.unused.bytesExpectedToReceive = newValue } }
    }
}

extension URLSessionConfiguration {
    /// The purpose of the traffic. It is stored but has no effect.
    public var networkServiceType: URLRequest.NetworkServiceType {
        get { self[\.unused.networkServiceType] }
        set { self[\.unused.networkServiceType] = newValue }
    }

    /// Whether a cellular connection may be used. It is stored but has no effect: the system routes connections.
    public var allowsCellularAccess: Bool {
        get { self[\.unused.allowsCellularAccess] }
        set { self[\.unused.allowsCellularAccess] = newValue }
    }

    /// Whether an expensive connection may be used. It is stored but has no effect.
    public var allowsExpensiveNetworkAccess: Bool {
        get { self[\.unused.allowsExpensiveNetworkAccess] }
        set { self[\.unused.allowsExpensiveNetworkAccess] = newValue }
    }

    /// Whether a connection in low-data mode may be used. It is stored but has no effect.
    public var allowsConstrainedNetworkAccess: Bool {
        get { self[\.unused.allowsConstrainedNetworkAccess] }
        set { self[\.unused.allowsConstrainedNetworkAccess] = newValue }
    }

    /// Whether requests may be pipelined. It is stored but has no effect: each connection has one request at a time.
    public var httpShouldUsePipelining: Bool {
        get { self[\.unused.usesPipelining] }
        set { self[\.unused.usesPipelining] = newValue }
    }

    /// Whether the system may delay transfers. It is stored but has no effect, since there are no background sessions.
    public var isDiscretionary: Bool {
        get { self[\.isDiscretionary] }
        set { self[\.isDiscretionary] = newValue }
    }

    /// Whether connections stay open when the program moves to the background. It is stored but has no effect.
    public var shouldUseExtendedBackgroundIdleMode: Bool {
        get { self[\.usesExtendedIdleMode] }
        set { self[\.usesExtendedIdleMode] = newValue }
    }

    /// Whether requests wait for a network. It is stored but has no effect: a request that can't connect fails at once.
    public var waitsForConnectivity: Bool {
        get { self[\.waitsForConnectivity] }
        set { self[\.waitsForConnectivity] = newValue }
    }

    /// The identifier of a background session. Always `nil`, since there are none.
    public var identifier: String? { nil }

    /// The container of a background session. Always `nil`, since there are none.
    public var sharedContainerIdentifier: String? { nil }

    /// Unavailable: no process outlives the program to run its transfers.
    @available(
        *, unavailable,
        message: "there are no background sessions: use a download task, and resume it with its resume data"
    )
    public static func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        URLSessionConfiguration.default
    }
}
