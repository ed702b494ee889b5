import CPinctlOpenSSL
import FoundationEssentials

/// Returns the value of `Sec-WebSocket-Accept` (RFC 6455, section 4.2.2).
func acceptValue(for key: String) -> String {
    let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
    var digest = [UInt8](repeating: 0, count: 20)
    unsafe SHA1(text, text.count, &digest)
    return Data(digest).base64EncodedString()
}
