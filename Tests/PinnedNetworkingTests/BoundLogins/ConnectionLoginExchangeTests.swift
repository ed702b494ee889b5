import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

/// Connection logins in the state machine of a task, without a connection.
@Suite struct ConnectionLoginExchangeTests {
    private static let both = ["Negotiate", "NTLM", "Basic realm=\"r\""].map {
        HTTPField(name: "WWW-Authenticate", value: $0)
    }

    private func asked(_ step: AuthenticationExchange.Step) -> String? {
        if case .ask(let question) = step { question.space.authenticationMethod } else { nil }
    }

    @Test("Without a library or a ticket the next scheme is tried, and Negotiate isn't tried again")
    func fallThrough() throws {
        let request = try AuthenticationRequest.get("/")
        var exchange = TaskScript().exchange
        #expect(exchange.field(for: request) == nil)
        #expect(
            asked(exchange.received(statusCode: 401, fields: Self.both)) == NSURLAuthenticationMethodNegotiate)
        guard case .retry = exchange.answered(.use(credential("", password: ""))) else {
            Issue.record("the credential was not taken")
            return
        }
        #expect(exchange.connectionLogin(for: request)?.prepared.connectionMechanism == .negotiate)
        #expect(exchange.field(for: request) == nil)
        #expect(exchange.loginTurn != nil)
        #expect(asked(exchange.cannotLogIn()) == NSURLAuthenticationMethodNTLM)
        #expect(exchange.loginTurn == nil)
        #expect(asked(exchange.received(statusCode: 401, fields: Self.both)) == NSURLAuthenticationMethodNTLM)
    }

    @Test("An empty user means Kerberos tickets, and isn't a user for NTLM or Basic")
    func tickets() throws {
        let request = try AuthenticationRequest.get("/")
        var exchange = TaskScript().exchange
        _ = exchange.field(for: request)
        #expect(asked(exchange.received(statusCode: 401, fields: [Self.both[1]])) == NSURLAuthenticationMethodNTLM)
        guard case .deliver = exchange.answered(.use(credential("", password: ""))) else {
            Issue.record("NTLM went on without a user")
            return
        }
    }

    @Test("A server that never finishes is given up on after 20 messages")
    func endless() throws {
        let request = try AuthenticationRequest.get("/")
        var exchange = TaskScript().exchange
        _ = exchange.field(for: request)
        _ = exchange.received(statusCode: 401, fields: [Self.both[0]])
        _ = exchange.answered(.use(credential("u")))
        let more = HTTPField(name: "WWW-Authenticate", value: "Negotiate AAAA")
        for _ in 0..<AuthenticationExchange.messageLimit {
            _ = exchange.field(for: request)
            guard
                case .retry = exchange.received(
                    statusCode: 401, fields: [more], login: .proven)
            else {
                Issue.record("it ended early")
                return
            }
            #expect(exchange.field(for: request) == nil)
            #expect(exchange.loginTurn?.token == [0, 0, 0])
        }
        _ = exchange.field(for: request)
        #expect(
            asked(
                exchange.received(
                    statusCode: 401, fields: [more], login: .proven))
                == NSURLAuthenticationMethodNegotiate)
    }

    @Test("HA11: On a proxy's connection, or after a redirect to the host, connection logins aren't offered")
    func notPermitted() throws {
        for permission in [ConnectionLogins.stored, .refused] {
            var request = try AuthenticationRequest.get("/")
            request.connectionLogins = permission
            var exchange = TaskScript().exchange
            _ = exchange.field(for: request)
            #expect(
                asked(exchange.received(statusCode: 401, fields: Self.both)) == NSURLAuthenticationMethodHTTPBasic)
        }
    }
}
