import PinnedNetworking

@main
struct Main {
    static func main() async {
        switch Site.command {
        case "session preferences": await Site.get(SessionPreferencesDelegate())
        case "connection preferences": await Site.get(ConnectionPreferencesDelegate())
        case "example.com", "example.net": await Site.report { try await fetchThroughProxy(Site.command) }
        case "delegates":
            let delegates: [any URLSessionTaskDelegate] = [
                ObjectHandler(), ObjectAsync(), MainActorHandler(), MainActorCheckedHandler(), MainActorAsync(),
                ForwardingHandler(), ForwardingAsync(), ActorHandler(), ActorAsync(),
            ]
            for delegate in delegates { await Site.get(delegate, queue: .main) }
        default: print("unknown command")
        }
    }
}
