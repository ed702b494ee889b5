import Foundation
import PinctlHTTPMessages
import PinctlTLSTransport

/// The proxies of ``URLSessionConfiguration/connectionProxyDictionary``.
///
/// Every entry must be understood. An ignored one could mean that requests take another route than the intended one.
struct ProxyDictionary: Sendable, Hashable {
    /// A value of the dictionary.
    private enum Value: Sendable, Hashable {
        case number(Int)
        case text(String)
        case list([String])

        var plain: Any {
            switch self {
            case .number(let number): number
            case .text(let text): text
            case .list(let list): list
            }
        }
    }

    private var values: [String: Value] = [:]
    private(set) var proxies: [ProxyConfiguration] = []
    /// The reason why the dictionary can't be used, if any.
    private(set) var error: ProxyDictionaryError?

    /// The entries, as they were set.
    var plain: [AnyHashable: Any] {
        Dictionary(uniqueKeysWithValues: values.map { (AnyHashable($0.key), $0.value.plain) })
    }

    init(_ dictionary: [AnyHashable: Any]) {
        for (key, value) in dictionary {
            guard let name = key.base as? String else {
                error = .unknownKey("\(key)")
                continue
            }
            switch value {
            // NSNumber and Bool are Int too where Foundation bridges them.
            case let number as Bool: values[name] = .number(number ? 1 : 0)
            case let number as any BinaryInteger: values[name] = .number(Int(clamping: number))
            case let number as NSNumber: values[name] = .number(number.intValue)
            case let text as String: values[name] = .text(text)
            case let list as [String]: values[name] = .list(list)
            default: error = .malformedValue(key: name)
            }
        }
        guard error == nil else { return }
        do throws(ProxyDictionaryError) {
            proxies = try makeProxies()
        } catch {
            self.error = error
        }
    }

    private static let exceptions = "ExceptionsList"

    private func makeProxies() throws(ProxyDictionaryError) -> [ProxyConfiguration] {
        let kinds: [(prefix: String, kind: ProxyConfiguration.Kind, schemes: Set<HTTPScheme>?)] = [
            ("HTTP", .http, [.http]), ("HTTPS", .http, [.https]), ("SOCKS", .socks(.socks5), nil),
        ]
        let known = kinds.flatMap { kind in ["Enable", "Proxy", "Port"].map { kind.prefix + $0 } } + [Self.exceptions]
        if let key = values.keys.sorted().first(where: { !known.contains($0) }) { throw .unknownKey(key) }
        var excluded: [String] = []
        switch values[Self.exceptions] {
        case nil: break
        case .list(let list)?: excluded = list
        case _?: throw .malformedValue(key: Self.exceptions)
        }
        var proxies: [ProxyConfiguration] = []
        for (prefix, kind, schemes) in kinds {
            switch values[prefix + "Enable"] {
            case .number(0)?: continue
            case .number?: break
            case nil where values[prefix + "Proxy"] == nil: continue
            case _: throw .malformedValue(key: prefix + "Enable")
            }
            guard case .text(let host)? = values[prefix + "Proxy"], let name = try? ServerName(host) else {
                throw .malformedValue(key: prefix + "Proxy")
            }
            guard case .number(let number)? = values[prefix + "Port"], let port = UInt16(exactly: number), port > 0
            else {
                throw .malformedValue(key: prefix + "Port")
            }
            var proxy = ProxyConfiguration(host: name, port: port, kind: kind)
            proxy.schemes = schemes
            proxy.excludedDomains = excluded
            proxies.append(proxy)
        }
        return proxies
    }
}

/// The reason why a dictionary of proxies can't be used.
enum ProxyDictionaryError: Error, Hashable, CustomStringConvertible {
    case unknownKey(String)
    /// The value is missing or of another kind.
    case malformedValue(key: String)

    var description: String {
        switch self {
        case .unknownKey(let key):
            "connectionProxyDictionary has the unsupported key \(HTTPExcerpt(key)): use proxyConfigurations"
        case .malformedValue(let key):
            "connectionProxyDictionary has no valid value for \(HTTPExcerpt(key)): set HTTPEnable, HTTPProxy and "
                + "HTTPPort, or the keys that begin with HTTPS or SOCKS, or use proxyConfigurations"
        }
    }
}

extension URLSessionConfiguration {
    /// The proxies in the form of Apple's dictionary, or `nil` if they weren't set by one. Setting it replaces
    /// ``proxyConfigurations``.
    ///
    /// The keys are `HTTPEnable`, `HTTPProxy` and `HTTPPort`, the same with `HTTPS` and `SOCKS`, and `ExceptionsList`.
    /// With any other key, every request fails with an error that names it.
    public var connectionProxyDictionary: [AnyHashable: Any]? {
        get { self[\.proxyDictionary]?.plain }
        set {
            let dictionary = newValue.map { ProxyDictionary($0) }
            self[\.proxyDictionary] = dictionary
            self[\.proxies] = dictionary?.proxies ?? []
        }
    }
}
