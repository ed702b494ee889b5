import CertificateTrust

/// A drawing of a chain as boxes from the leaf to the root, each with the pin that matched there. The rule's pins that
/// match nothing are shown beside it.
enum HTMLChain {
    static func write(_ entry: ReportEntry, to page: inout String) {
        let unmatched = entry.pins.filter { !$0.isMatched }
        guard !entry.chain.isEmpty || !unmatched.isEmpty else { return }
        page += "<div class=\"drawing\">\n"
        if !entry.chain.isEmpty {
            page += "<ol class=\"chain\" aria-label=\"The chain, leaf first\">\n"
            for certificate in entry.chain { write(certificate, hasPins: !entry.pins.isEmpty, to: &page) }
            page += "</ol>\n"
        }
        if !unmatched.isEmpty {
            page += "<div class=\"pins\">\n<h3>Pins without a match</h3>\n<ul>\n"
            for pin in unmatched {
                page += "<li class=\"pin\"><b>\(markup(pin.title))</b> <span class=\"note\">\(markup(pin.role))"
                page += "\(pin.isBackup ? ", backup" : ""); \(markup(pin.standing))</span>"
                if pin.title != pin.pin { page += "<code>\(markup(pin.pin))</code>" }
                page += "</li>\n"
            }
            page += "</ul>\n</div>\n"
        }
        page += "</div>\n"
    }

    private static func write(_ certificate: ReportCertificate, hasPins: Bool, to page: inout String) {
        page += "<li class=\"box\(certificate.matched == nil ? "" : " match")\"><h3>\(markup(certificate.role)) "
        page += "<span class=\"source\">\(markup(certificate.source))</span></h3>\n"
        page += "<p class=\"name\">\(markup(certificate.subject))</p>\n"
        page += "<p>by \(markup(certificate.issuer))</p>\n"
        page += "<p>\(markup(certificate.key)), \(HTMLReport.time(certificate.notBefore)) to "
        page +=
            "\(HTMLReport.time(certificate.notAfter)), \(certificate.lifetimeLeftPercent)% of its lifetime left</p>\n"
        page += "<code>\(markup(certificate.pin))</code>\n"
        if let matched = certificate.matched {
            page += "<p class=\"hit good\">\(HTMLReport.mark(.ok)) matches <b>\(markup(matched))</b></p>\n"
        } else if hasPins {
            page += "<p class=\"hit miss\"><span class=\"mark\" aria-hidden=\"true\">–</span> no pin matches here</p>\n"
        }
        page += "</li>\n"
    }
}
