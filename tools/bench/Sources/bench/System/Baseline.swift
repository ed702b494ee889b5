import CBaseline

/// Byte strings one behind the other, as C takes them.
struct Corpus {
    let bytes: [UInt8]
    let ends: [Int]

    init(_ objects: [[UInt8]]) {
        bytes = objects.flatMap { $0 }
        var end = 0
        ends = objects.map { object in
            end += object.count
            return end
        }
    }

    var count: Int { ends.count }

    /// Hands the objects to a function of C.
    fileprivate func pins(by function: (baseline_corpus) -> baseline_pins) -> Pins {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe ends.withUnsafeBufferPointer { ends in
                let corpus = unsafe baseline_corpus(bytes: bytes.baseAddress, ends: ends.baseAddress, count: count)
                return unsafe Pins(function(corpus))
            }
        }
    }
}

extension Pins {
    init(_ pins: baseline_pins) {
        self.init(count: pins.count, check: pins.check)
    }
}

/// C's way from DER over parsed certificates.
func openSSLPins(_ certificates: Corpus) -> Pins {
    unsafe certificates.pins { unsafe baseline_spki_openssl($0) }
}

/// C's SHA-256 over the keys alone.
func hashedKeys(_ keys: Corpus) -> Pins { unsafe keys.pins { unsafe baseline_sha256($0) } }

/// C's loop over a PEM file.
func plainLoopPins(_ path: String) -> Pins { unsafe Pins(baseline_spki_pem(path)) }

/// C's loop over `X509_verify_cert`. One chain is open at a time.
struct CVerification: Verification {
    init(chain: String, anchors: String) throws {
        guard unsafe baseline_verify_open(chain, anchors) == 1 else { throw BenchError("cannot read \(chain)") }
    }

    func verify(_ form: ChainForm, times: Int) -> Int { unsafe baseline_verify(host, times, form == .parsed ? 0 : 1) }
}

/// CPU time of this thread, in nanoseconds.
func cpuTime() -> Double { Double(baseline_cpu_time()) }

/// Gives freed memory back to the system.
func trimMemory() { baseline_trim() }
