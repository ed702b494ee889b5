import CertificateTrust
import Glibc

/// The system's words for a port that nobody listens at.
let connectionRefusedText = systemErrorText(ECONNREFUSED)
