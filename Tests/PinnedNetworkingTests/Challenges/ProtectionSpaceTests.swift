import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// The parts of a protection space, each with a value that tests change.
private struct Place: Sendable {
    var host = "a.test"
    var port = 443
    var scheme: String? = NSURLProtectionSpaceHTTPS
    var realm: String? = "realm"
    var method: String? = NSURLAuthenticationMethodHTTPBasic

    var space: URLProtectionSpace {
        URLProtectionSpace(host: host, port: port, protocol: scheme, realm: realm, authenticationMethod: method)
    }

    func proxy(_ type: String?) -> URLProtectionSpace {
        URLProtectionSpace(proxyHost: host, port: port, type: type, realm: realm, authenticationMethod: method)
    }

    func with<Value>(_ part: WritableKeyPath<Place, Value>, _ value: Value) -> Place {
        var place = self
        place[keyPath: part] = value
        return place
    }
}

@Suite struct ProtectionSpaceTests {
    @Test("HA21: Spaces differ by host, port, protocol, realm, method, and proxy type")
    func differences() {
        let place = Place()
        let spaces = [
            place.space, place.with(\.host, "b.test").space, place.with(\.host, "a.test.b").space,
            place.with(\.port, 8443).space, place.with(\.port, 0).space,
            place.with(\.scheme, NSURLProtectionSpaceHTTP).space, place.with(\.scheme, nil).space,
            place.with(\.realm, "Realm").space, place.with(\.realm, "").space, place.with(\.realm, nil).space,
            place.with(\.realm, "re\u{E4}lm").space, place.with(\.realm, "rea\u{308}lm").space,
            place.with(\.method, NSURLAuthenticationMethodHTTPDigest).space, place.with(\.method, nil).space,
            place.proxy(nil), place.proxy(NSURLProtectionSpaceHTTPProxy), place.proxy(NSURLProtectionSpaceHTTPSProxy),
            place.proxy(NSURLProtectionSpaceFTPProxy), place.proxy(NSURLProtectionSpaceSOCKSProxy),
        ]
        for (index, space) in spaces.enumerated() {
            #expect(spaces.firstIndex(of: space) == index)
        }
        #expect(Set(spaces).count == spaces.count)
        // A server with a nil protocol isn't equal to a proxy.
        #expect(place.with(\.scheme, nil).space != place.proxy(nil))
    }

    @Test(
        "HA21: Capitals, a trailing dot and the notation of an address don't make spaces differ",
        arguments: [
            ("a.test", "A.Test"), ("a.test", "a.test."), ("192.0.2.1", "192.0.2.1"), ("::1", "[::1]"),
            ("2001:db8::1", "2001:DB8:0:0::1"), ("bücher.test", "bücher.test"),
        ])
    func sameHost(one: String, other: String) {
        for (left, right) in [
            (Place(host: one).space, Place(host: other).space),
            (Place(host: one).proxy("http"), Place(host: other).proxy("http")),
        ] {
            #expect(left == right)
            #expect(left.hashValue == right.hashValue)
        }
        #expect(Place(host: other).space.host == other)
    }

    @Test(
        "HA21: Text that only resembles a host isn't equal to it",
        arguments: ["a.test..", ".a.test", "a.test:443", "*.test", "a.test ", "xn--a.test", "", "a\u{200B}.test"])
    func otherHost(host: String) {
        #expect(Place(host: host).space != Place().space)
    }

    @Test("A space without a method has the default one, and returns the values it was created with")
    func contents() {
        let server = Place().with(\.method, nil).space
        #expect(server.authenticationMethod == NSURLAuthenticationMethodDefault)
        #expect(server.host == "a.test" && server.port == 443 && server.protocol == "https" && server.realm == "realm")
        #expect(!server.isProxy() && server.proxyType == nil)
        #expect(server.serverTrust == nil && server.distinguishedNames == nil)
        let proxy = Place().proxy(NSURLProtectionSpaceSOCKSProxy)
        #expect(proxy.isProxy() && proxy.proxyType == "SOCKS" && proxy.protocol == nil)
    }

    @Test("The constants have the values of Apple's platforms")
    func constants() {
        #expect(
            [NSURLProtectionSpaceHTTP, NSURLProtectionSpaceHTTPS, NSURLProtectionSpaceFTP] == ["http", "https", "ftp"])
        #expect(
            [
                NSURLProtectionSpaceHTTPProxy, NSURLProtectionSpaceHTTPSProxy, NSURLProtectionSpaceFTPProxy,
                NSURLProtectionSpaceSOCKSProxy,
            ] == ["http", "https", "ftp", "SOCKS"])
        #expect(
            [
                NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic,
                NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodHTMLForm,
                NSURLAuthenticationMethodNegotiate, NSURLAuthenticationMethodNTLM,
                NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust,
            ]
                == [
                    "Default", "HTTPBasic", "HTTPDigest", "HTMLForm", "Negotiate", "NTLM", "ClientCertificate",
                    "ServerTrust",
                ].map { "NSURLAuthenticationMethod" + $0 })
    }

    @Test(
        "A credential is received securely over TLS, or by a method that sends no password",
        arguments: [
            (NSURLAuthenticationMethodDefault, false), (NSURLAuthenticationMethodHTTPBasic, false),
            (NSURLAuthenticationMethodHTMLForm, false), ("basic", false), (NSURLAuthenticationMethodHTTPDigest, true),
            (NSURLAuthenticationMethodNTLM, true), (NSURLAuthenticationMethodNegotiate, true),
            (NSURLAuthenticationMethodClientCertificate, true), (NSURLAuthenticationMethodServerTrust, true),
        ])
    func receivesCredentialSecurely(method: String, isSecureByItself: Bool) {
        let place = Place(method: method)
        #expect(place.space.receivesCredentialSecurely)
        #expect(place.with(\.scheme, "ftps").space.receivesCredentialSecurely)
        #expect(place.proxy(NSURLProtectionSpaceHTTPSProxy).receivesCredentialSecurely)
        for scheme in [NSURLProtectionSpaceHTTP, NSURLProtectionSpaceFTP, nil] {
            #expect(place.with(\.scheme, scheme).space.receivesCredentialSecurely == isSecureByItself)
        }
        for type in [NSURLProtectionSpaceHTTPProxy, NSURLProtectionSpaceFTPProxy, NSURLProtectionSpaceSOCKSProxy, nil] {
            #expect(place.proxy(type).receivesCredentialSecurely == isSecureByItself)
        }
    }

    // swift-corelibs-foundation's TestURLProtectionSpace.test_description; its other tests are in
    // AuthenticationOfferTests.
    @Test(
        "A description lists the parts, and shows an unknown method as the default one",
        arguments: [
            ("basic", "NSURLAuthenticationMethodDefault"),
            ("NSURLAuthenticationMethodHTMLForm", "NSURLAuthenticationMethodHTMLForm"),
        ])
    func description(method: String, shown: String) {
        let space = URLProtectionSpace(
            host: "apple.com", port: 80, protocol: "http", realm: nil, authenticationMethod: method)
        #expect(space.description.hasPrefix("<URLProtectionSpace"))
        #expect(
            space.description.hasSuffix(
                ": Host:apple.com, Server:http, Auth-Scheme:\(shown), Realm:(null), Port:80, Proxy:NO, "
                    + "Proxy-Type:(null)"))
    }

    @Test("CL1: A realm can't control a terminal through a description")
    func hostileRealm() {
        let description = Place(realm: "a\u{1B}[2Jb\r\n\u{202E}c").space.description
        #expect(description.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 })
    }

    @Test("Spaces of TLS challenges contain the chain, or the CA names, of the server or the proxy")
    func challenges() throws {
        let site = try TestSite.pinned([.dns("a.test")])
        let presented = try PresentedChain(derCertificates: site.chain.map(\.derBytes))
        let name = try ServerName("A.test.")
        let store = try site.store
        func trust() -> ServerTrust { ServerTrust(presented: presented, name: name, store: store) }
        let issuers = [site.root.subject.derBytes]
        let type = NSURLProtectionSpaceHTTPSProxy

        let server = URLProtectionSpace(serverTrust: trust(), port: 443)
        #expect(server == URLProtectionSpace(serverTrust: trust(), port: 443))
        #expect(server == Place(realm: nil, method: NSURLAuthenticationMethodServerTrust).space)
        #expect(server.serverTrust?.presented.certificates.count == 2 && server.distinguishedNames == nil)

        #expect(
            URLProtectionSpace(serverTrust: trust(), port: 990, protocol: "ftps")
                == Place(port: 990, scheme: "ftps", realm: nil, method: NSURLAuthenticationMethodServerTrust).space)

        let proxy = URLProtectionSpace(serverTrust: trust(), port: 443, proxyType: type)
        #expect(proxy == Place(realm: nil, method: NSURLAuthenticationMethodServerTrust).proxy(type))
        #expect(proxy.isProxy() && proxy.protocol == nil && proxy.proxyType == type && proxy != server)

        let asking = URLProtectionSpace(clientCertificateFor: name, port: 443, issuers: issuers)
        #expect(asking == Place(realm: nil, method: NSURLAuthenticationMethodClientCertificate).space)
        #expect(asking.distinguishedNames == issuers.map { Data($0) } && asking.serverTrust == nil)
        #expect(URLProtectionSpace(clientCertificateFor: name, port: 443, issuers: []).distinguishedNames == [])
        let proxyAsking = URLProtectionSpace(clientCertificateFor: name, port: 443, issuers: [], proxyType: type)
        #expect(proxyAsking == Place(realm: nil, method: NSURLAuthenticationMethodClientCertificate).proxy(type))
        #expect(proxyAsking.host == "a.test")
    }
}
