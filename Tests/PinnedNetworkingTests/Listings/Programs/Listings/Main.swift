@main
struct Main {
    static func main() async {
        switch Site.command {
        case "login": await Site.get(LoginDelegate())
        case "no delegate": await Site.report { try await fetchWithoutDelegate() }
        case "task delegate": await Site.report { try await fetchWithDelegate() }
        case "preferences": await Site.get(PreferencesDelegate())
        case "connection": await Site.report { try await fetchByConnection() }
        default: print("unknown command")
        }
    }
}
