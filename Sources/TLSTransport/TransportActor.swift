/// The actor for code that runs on the event loop, where connections run too, so calls between them don't change
/// threads. ``Transport/start()`` throws if the loop can't be started.
@globalActor
package actor TransportActor {
    package static let shared = TransportActor()
}
