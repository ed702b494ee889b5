import CPinctlOpenSSL

extension TestDER {
    /// Returns a time as RFC 5280 writes it: UTCTime up to 2049, and GeneralizedTime from 2050 on (`ASN1_TIME_set`).
    static func time(_ unixSeconds: Int64) throws(TestPKIError) -> [UInt8] {
        ERR_clear_error()
        guard let time = unsafe ASN1_TIME_set(nil, time_t(unixSeconds)) else { throw .openSSL("ASN1_TIME_set") }
        defer { unsafe ASN1_TIME_free(time) }
        let text = unsafe UnsafeRawBufferPointer(
            start: ASN1_STRING_get0_data(time), count: Int(ASN1_STRING_length(time)))
        return unsafe element(UInt8(ASN1_STRING_type(time)), Array(text))
    }
}
