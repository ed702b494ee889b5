class Pins {
    /* the old one: .add("no.example", "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=") */
    static final String HOST = "api." + "example.com", PIN = "sha1/DmxUShsZuNiqPQsX2Oi9uv2sCnw=";
    CertificatePinner make() {
        char quote = '"';
        CertificatePinner.Builder builder = new CertificatePinner.Builder();
        builder.add(HOST, PIN, "\163ha256/\u0041AAA");
        return builder.add("σ.example", "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=").build();
    }
}
