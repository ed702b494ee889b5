import Synchronization

/// An object that is created on first use and kept, as `AtomicLazyReference` of Synchronization does, whose generic
/// code isn't specialized for its callers: each read looks up metadata, which costs as much as comparing two names.
///
/// Unchecked: the pointer is set once, to an object that this value retains until it ends.
@safe struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, @unchecked Sendable {
    private let pointer: Atomic<UnsafeMutableRawPointer?>

    init(_ object: Instance? = nil) {
        unsafe pointer = Atomic(object.map { unsafe Unmanaged.passRetained($0).toOpaque() })
    }

    deinit {
        if let pointer = unsafe pointer.load(ordering: .acquiring) {
            unsafe Unmanaged<Instance>.fromOpaque(pointer).release()
        }
    }

    /// Returns the object, created by `create` if there is none yet. Of several threads that create one at a time, all
    /// get the first.
    func value<Failure: Error>(_ create: () throws(Failure) -> Instance) throws(Failure) -> Instance {
        if let pointer = unsafe pointer.load(ordering: .acquiring) {
            return unsafe Unmanaged<Instance>.fromOpaque(pointer).takeUnretainedValue()
        }
        let created = unsafe Unmanaged.passRetained(try create())
        let (isFirst, earlier) = unsafe pointer.compareExchange(
            expected: nil, desired: created.toOpaque(), ordering: .acquiringAndReleasing)
        guard !isFirst, let earlier = unsafe earlier else { return unsafe created.takeUnretainedValue() }
        unsafe created.release()
        return unsafe Unmanaged<Instance>.fromOpaque(earlier).takeUnretainedValue()
    }
}
