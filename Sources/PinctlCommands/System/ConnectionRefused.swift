import CertificateTrust
import PinctlBasics
import PinctlLibC

/// The system's message for a refused connection.
let connectionRefusedText = systemErrorText(ECONNREFUSED)
