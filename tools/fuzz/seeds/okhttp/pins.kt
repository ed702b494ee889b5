object Hosts { const val ROOT = "example.com" }
private const val PIN: String = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
val pinner = CertificatePinner.Builder().apply {
    if (isStaging) { add("staging.${Hosts.ROOT}", PIN) } // not yet
    add(pattern = "**.$ROOT", PIN, "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=")
}.add("*.a.example", """sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=""").build()
