extension PinDialect { func rules(for host: String, in policy: CanonicalPolicy) -> [CanonicalRule] { [] } }
