/// The API level that an Android app targets, its `targetSdkVersion`. Defaults of the system depend on it.
package struct AndroidTarget: Sendable, Hashable {
    /// The API level, such as 37 for Android 17.
    package let level: Int

    /// Creates a target with an API level.
    package init(level: Int) { self.level = level }

    /// Parses an API level in decimal digits, and returns `nil` for anything else.
    package init?(_ text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.count <= 4, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let level = Int(text), level > 0
        else { return nil }
        self.init(level: level)
    }

    // mutant plan-target: false for `level >= 37` by PlanTargetTests
    /// Whether a leaf needs timestamps of Certificate Transparency logs unless the config says otherwise (AOSP's
    /// DEFAULT_ENABLE_CERTIFICATE_TRANSPARENCY, since Android 17).
    package var requiresTransparency: Bool { level >= 37 }

    /// Whether requests without TLS are allowed unless the config says otherwise, as before Android 9.
    var allowsCleartext: Bool { level < 28 }
}
