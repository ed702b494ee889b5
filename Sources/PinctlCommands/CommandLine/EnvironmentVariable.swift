/// An environment variable that pinctl reads, for `pinctl help environment` and the man pages.
struct EnvironmentVariable: Sendable {
    let name: String
    let meaning: String

    static let all = [
        EnvironmentVariable(
            name: "PINCTL_POLICY", meaning: "The default policy file, instead of pins/pins.jsonc."),
        EnvironmentVariable(
            name: "SSL_CERT_FILE",
            meaning: "A file of trusted roots, instead of the system roots. --ca-file takes precedence."),
        EnvironmentVariable(
            name: "SSL_CERT_DIR",
            meaning: "Directories of trusted roots, separated by colons, instead of the system roots."),
        EnvironmentVariable(
            name: "PINCTL_PUBLIC_SUFFIXES",
            meaning:
                "The public suffix list, in the format of publicsuffix.org, instead of the system's. A list that is "
                + "named here may have any age."),
        EnvironmentVariable(
            name: "https_proxy, all_proxy, no_proxy",
            meaning: "The proxy for --proxy env, [http://][USER:PASSWORD@]HOST[:PORT], with port 1080 if there is none "
                + "and percent-encoded user and password, and the hosts that are reached without it: *, or a list of "
                + "example.com (with the names below it), 192.0.2.1, 192.0.2.0/24 and [2001:db8::1]. example.com:8443 "
                + "is for that port only. Other entries are an error. Upper case is read too, if lower case is empty "
                + "or unset. Without --proxy env, failures mention a proxy that is ignored."),
        EnvironmentVariable(
            name: "GITHUB_ACTIONS, GITHUB_STEP_SUMMARY",
            meaning: "If GITHUB_ACTIONS is true, findings are printed as annotations, and a summary is appended to the "
                + "file that GITHUB_STEP_SUMMARY names (--annotations)."),
        EnvironmentVariable(name: "NO_COLOR", meaning: "Disables color if not empty (--color auto)."),
        EnvironmentVariable(
            name: "CLICOLOR_FORCE, FORCE_COLOR",
            meaning: "Enables color even without a terminal if not empty and not 0 (--color auto)."),
        EnvironmentVariable(name: "TERM", meaning: "The value dumb disables color and progress."),
        EnvironmentVariable(name: "COLUMNS", meaning: "The width of the terminal, if the terminal does not report it."),
    ]
}
