@main
struct Main {
    static func main() async {
        switch Site.command {
        case "login": await Site.get(LoginDelegate())
        case "no delegate": await Site.report { try await fetchWithoutDelegate() }
        case "task delegate": await Site.report { try await fetchWithDelegate() }
        case "preferences": await Site.get(PreferencesDelegate())
        default: print("unknown command")
        }
    }
}
