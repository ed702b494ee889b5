/// Whoever is isolated to it runs on the event loop, where connections live: calls between them change no thread.
///
/// ``Transport/start()`` comes before the first call; work for a loop that does not run waits until it does.
@globalActor
package actor TransportActor {
    package static let shared = TransportActor()
}
