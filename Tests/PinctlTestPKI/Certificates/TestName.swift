/// A distinguished name.
package struct TestName: Hashable, Sendable {
    package struct Attribute: Hashable, Sendable {
        package var type: String
        /// The whole element of the value.
        package var value: [UInt8]

        /// Creates an attribute of any type, in dotted decimal. `tag` is the string type of the value, by default
        /// UTF8String.
        package init(_ type: String, _ text: String, tag: UInt8 = 0x0C) {
            self.type = type
            value = TestDER.element(tag, Array(text.utf8))
        }

        package var derBytes: [UInt8] { TestDER.sequence(TestDER.objectIdentifier(type), value) }

        package static func commonName(_ text: String) -> Attribute { Attribute("2.5.4.3", text) }
        package static func country(_ text: String) -> Attribute { Attribute("2.5.4.6", text, tag: 0x13) }
        package static func organization(_ text: String) -> Attribute { Attribute("2.5.4.10", text) }
        package static func organizationalUnit(_ text: String) -> Attribute { Attribute("2.5.4.11", text) }
    }

    package let derBytes: [UInt8]

    /// Creates a name from its DER in a certificate.
    package init(derBytes: [UInt8]) { self.derBytes = derBytes }

    /// Creates a name with these attributes in order, one in each RelativeDistinguishedName.
    package init(attributes: [Attribute]) {
        derBytes = TestDER.element(0x30, attributes.flatMap { TestDER.set($0.derBytes) })
    }

    package init(_ attributes: Attribute...) { self.init(attributes: attributes) }
}

extension TestName: ExpressibleByStringLiteral {
    package init(stringLiteral commonName: String) { self.init(.commonName(commonName)) }
}
