import Basics
import CertificateTrust
import LibC

/// The system's message for a refused connection.
let connectionRefusedText = systemErrorText(ECONNREFUSED)
