/// Whoever is isolated to it runs on the event loop, where connections live: calls between them change no thread.
/// ``Transport/start()`` says whether there is one.
@globalActor
package actor TransportActor {
    package static let shared = TransportActor()
}
