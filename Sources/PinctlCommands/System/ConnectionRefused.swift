import Basics
import CertificateTrust
import Glibc

/// The system's message for a refused connection.
let connectionRefusedText = systemErrorText(ECONNREFUSED)
