import Foundation
import Testing

/// A server that is installed beside Swift, or not.
enum PeerProgram: String {
    case apache = "/usr/sbin/apache2"
    case nginx = "/usr/sbin/nginx"
    case squid = "/usr/sbin/squid"
    case postfix = "/usr/lib/postfix/sbin/master"
    case dovecot = "/usr/sbin/dovecot"
    case managesieve = "/usr/lib/dovecot/managesieve"
    case lmtp = "/usr/lib/dovecot/lmtp"
    case slapd = "/usr/sbin/slapd"
    case postgresql = "/usr/lib/postgresql/15/bin/postgres"
    case mitmproxy = "mitmproxy/bin/mitmdump"

    /// Where it is. `tools/test` puts mitmproxy into an environment of its own.
    var path: String {
        guard self == .mitmproxy else { return rawValue }
        let environment = ProcessInfo.processInfo.environment
        let caches = environment["XDG_CACHE_HOME"] ?? NSHomeDirectory() + "/.cache"
        return caches + "/pinctl/" + rawValue
    }

    var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

    private var absence: Comment {
        switch self {
        case .apache: "apache2 is not installed (apt-get install apache2-bin)"
        case .nginx: "nginx is not installed (apt-get install nginx-light)"
        case .squid: "squid is not installed (apt-get install squid-openssl)"
        case .postfix: "postfix is not installed (apt-get install postfix)"
        case .dovecot: "dovecot is not installed (apt-get install dovecot-imapd dovecot-pop3d)"
        case .managesieve: "dovecot's sieve is not installed (apt-get install dovecot-managesieved)"
        case .lmtp: "dovecot's LMTP is not installed (apt-get install dovecot-lmtpd)"
        case .slapd: "slapd is not installed (apt-get install slapd)"
        case .postgresql: "PostgreSQL 15 is not installed (apt-get install postgresql)"
        case .mitmproxy: "mitmproxy is not installed (tools/test installs it where python3-venv is)"
        }
    }

    /// Skips a test where the program is missing; the runner prints why.
    var isNeeded: ConditionTrait { .enabled(if: isInstalled, absence) }
}
