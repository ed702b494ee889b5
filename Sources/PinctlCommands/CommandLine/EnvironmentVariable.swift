/// An environment variable that pinctl reads, for `pinctl help environment` and the man pages.
struct EnvironmentVariable: Sendable {
    let name: String
    let meaning: String

    static let all = [
        EnvironmentVariable(
            name: "PINCTL_POLICY", meaning: "The policy file where none is named, instead of pins/pins.jsonc."),
        EnvironmentVariable(
            name: "SSL_CERT_FILE",
            meaning: "A file of trusted roots instead of the system's; --ca-file comes before it."),
        EnvironmentVariable(
            name: "SSL_CERT_DIR",
            meaning: "Folders of trusted roots instead of the system's, with colons between them."),
        EnvironmentVariable(
            name: "GITHUB_ACTIONS, GITHUB_STEP_SUMMARY",
            meaning: "true has findings shown as GitHub shows them, and the file gets a summary (--annotations)."),
        EnvironmentVariable(name: "NO_COLOR", meaning: "No colour, when it is not empty (--color auto)."),
        EnvironmentVariable(
            name: "CLICOLOR_FORCE, FORCE_COLOR",
            meaning: "Colour also where the output is no terminal, when not empty and not 0 (--color auto)."),
        EnvironmentVariable(name: "TERM", meaning: "dumb means a terminal without colour and without progress."),
        EnvironmentVariable(name: "COLUMNS", meaning: "How wide the terminal is, where it does not say so itself."),
    ]
}
