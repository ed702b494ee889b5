"""The explanations of differences, one row each. The first row that fits a difference is its explanation.

A row names the profiles and libraries that it is about, a pattern of the refusing side's reason, a condition on the DER
of the case, and the explanation. Two conditions hold besides the row's:

- A chain that a profile accepts is only explained if the reference finds a valid path in it.
- The reason must match the pattern of the row, so that another reason for the same refusal needs a row of its own.
"""

import re
from dataclasses import dataclass
from typing import Callable

import chains
from evidence import *
from reference import Malformed

ANYONE = ("Go", "pyca", "GnuTLS", "OpenSSL", "OpenSSL strict")
OPENSSL = ("OpenSSL", "OpenSSL strict")
NOT_OPENSSL = ("Go", "pyca", "GnuTLS")
BOTH = ("default", "strict")
DEFAULT, STRICT = ("default",), ("strict",)
POLICY_KINDS = ("2.5.29.32", "2.5.29.33", "2.5.29.36", "2.5.29.54")
# What pyca says if it has tried several issuers, or one that issued itself, and what it has against the last of them is
# of no use.
UNTOLD = "no interior errors|chain construction exceeds max depth"
WEB_CURVES = ("1.2.840.10045.3.1.7", "1.3.132.0.34", "1.3.132.0.35")
TLS_CURVES = ("1.3.132.0.33", *WEB_CURVES, "1.3.132.0.10", *(f"1.3.36.3.3.2.8.1.1.{last}" for last in (7, 11, 13)))
# Netscape's and Microsoft's server-gated cryptography.
STEP_UP = {"2.16.840.1.113730.4.1", "1.3.6.1.4.1.311.10.3.3"}


@dataclass
class Row:
    profiles: tuple
    peers: tuple
    pattern: str
    condition: Callable
    reason: str


def strict_row(pattern, condition, rule):
    """A row for a rule that only strict has. Libraries check some of these rules; which ones is of no concern here."""
    return Row(STRICT, ANYONE, pattern, condition, f"strict: {rule}")


# This project accepts, the library refuses.
ACCEPTED = [
    # Finding issuers.
    Row(
        BOTH, ("Go", "pyca", "GnuTLS"),
        rf"unknown authority|signer not found|not authorized to sign|{UNTOLD}",
        names_differ_in_octets,
        "names that differ in case, spaces or string type are equal (RFC 5280, 7.1); the library compares octets"),
    Row(
        BOTH, ("GnuTLS", *OPENSSL),
        r"signer not found|^20 |^7 ",
        both(key_identifiers_differ, not_strict),
        "issuers are found by name, and an identifier of another key doesn't hide them (RFC 5280, 4.2.1.1 and 6.1); "
        "strict refuses the difference, the library takes the certificate for no issuer"),
    Row(
        BOTH, OPENSSL,
        r"^(7|10|19|20|26|34|47|68|78|79|85|86|92) ",
        has_other_candidates,
        "another path is valid; OpenSSL follows one candidate of a name and doesn't go back "
        "(openssl-verification-options)"),
    Row(
        BOTH, ("GnuTLS",),
        r"^(signer not found|signature failure|insecure algorithm|purpose mismatch|signer not CA|signer constraints|"
        r"expired|not activated|unknown critical extension|, )+(;|$)",
        has_other_candidates,
        "another path is valid; GnuTLS verifies the presented list in its order, and drops what doesn't continue it"),
    Row(
        BOTH, ("GnuTLS",),
        r"^signer not found",
        is_shuffled,
        "the presented certificates are out of order; GnuTLS sorts at most 16 of them"),
    Row(
        BOTH, ("pyca",),
        rf"^{NOT_THE_PATH}",
        has_other_candidates,
        "another path is valid; pyca's search ends at the limits of its work, or at a key or certificate that it can't "
        "read"),
    Row(
        BOTH, ("pyca",),
        r"ASN.1 parsing error",
        is_unreadable,
        "a presented certificate that isn't DER is ignored if no path needs it; pyca ends the search at it"),
    Row(
        DEFAULT, ("pyca",),
        r"ASN.1 parsing error",
        anywhere(has_odd_identifier),
        "authorityKeyIdentifier only orders the candidates; strict requires its keyIdentifier"),
    Row(
        DEFAULT, OPENSSL,
        r"^20 ",
        has_odd_or_other_identifier,
        "authorityKeyIdentifier only orders the candidates; OpenSSL takes one that names another certificate, or "
        "nothing, for a reason against the issuer"),
    Row(
        BOTH, ("Go", "pyca", *OPENSSL),
        r"inner and outer|mismatch between signatureAlgorithm|^7 |^78 ",
        has(lambda each: each.inner != each.outer),
        "an absent parameter is the same as NULL (RFC 4055, 2.1); strict refuses two spellings, except in an anchor"),
    # Names.
    Row(
        BOTH, ANYONE,
        r"hostname mismatch|unexpected owner|invalid domain name",
        host_has_trailing_dot,
        "a host with a trailing dot is the same host (RFC 1034, 3.1); the library compares the dot"),
    Row(
        BOTH, ("Go", "pyca"),
        r"unhandled critical extension|unsupported directoryName constraint|unsupported|unknown authority$",
        anywhere(both_of(constrains(0, 3, 4, 5, 8), extension(chains.CONSTRAINTS, True))),
        "constraints on directory and other names are applied (RFC 5280, 4.2.1.10); the library doesn't support them"),
    Row(
        BOTH, ("GnuTLS",),
        r"^signer constraints",
        anywhere(constrains(0, 3, 4, 5, 8)),
        "constraints on directory and other names are applied to such names (RFC 5280, 4.2.1.10); GnuTLS refuses them"),
    Row(
        BOTH, ("GnuTLS",),
        r"^signer constraints",
        constraints_overlap_as_text,
        "xample.com has nothing in common with example.com (RFC 5280, 4.2.1.10: labels); GnuTLS intersects constraints as "
        "text"),
    Row(
        BOTH, ("GnuTLS",),
        r"^signer constraints",
        either(anywhere(constrains_dns(lambda base: base != base.lower())),
            leaf_has(alternative_name(lambda name: name != name.lower()))),
        "constraints on DNS names ignore case (RFC 5280, 7.2); GnuTLS compares it"),
    Row(
        BOTH, ("GnuTLS",),
        r"unparsed: anchor",
        has(alternative_name(lambda name: not name)),
        "an alternative name of an anchor isn't used; GnuTLS can't read a certificate with an empty one"),
    Row(
        BOTH, ("Go", "GnuTLS"),
        r"cannot parse (IP address|rfc822Name)|URI with empty host|^unparsed: leaf|^signer constraints",
        has_unconstrained_oddity,
        "a malformed name of a kind that isn't constrained matches nothing and is ignored; the library refuses it"),
    Row(
        BOTH, ("GnuTLS", "pyca"),
        rf"^signer constraints|malformed DNS name constraint: *$|{UNTOLD}",
        anywhere(constrains_dns(lambda base: not base)),
        "an empty constraint on DNS names covers all of them (RFC 5280, 4.2.1.10: zero or more labels); the library "
        "refuses it"),
    Row(
        BOTH, ("GnuTLS",),
        r"^signer constraints",
        both(anywhere(constrains(2)), leaf_has(lambda leaf: all(kind != 2 for kind, _ in leaf.names))),
        "the common name is no DNS name (RFC 9525, 2); GnuTLS applies constraints to it if there is no alternative "
        "name"),
    Row(
        DEFAULT, ("pyca",),
        rf"malformed DNS name constraint: \.|{UNTOLD}",
        anywhere(constrains_dns(lambda base: base[:1] == b".")),
        "a leading dot in a constraint on DNS names means the subdomains, as in Go and OpenSSL; strict refuses it"),
    Row(
        DEFAULT, ("pyca",),
        r"malformed SAN",
        leaf_has(alternative_name(lambda name: b"_" in name)),
        "hosts with underscores exist; strict refuses them in certificates"),
    Row(
        BOTH, ("Go",),
        r"SAN dNSName is malformed",
        has(alternative_name(lambda name: not name.isascii() or b"\0" in name)),
        "an alternative name that can't match is ignored; strict refuses it in a leaf"),
    Row(
        DEFAULT, ("pyca",),
        r"ASN.1 parsing error: invalid value",
        leaf_has(alternative_name(lambda name: not name.isascii())),
        "an alternative name that can't match is ignored; strict refuses it in a leaf"),
    # Keys and signatures.
    Row(
        BOTH, ("Go",),
        r"public exponent too large",
        on_path(key_of_rsa(lambda modulus, exponent: exponent.bit_length() > 31)),
        "an RSA exponent has up to 33 bits, as in BoringSSL; Go verifies with up to 31"),
    Row(
        DEFAULT, ("Go",),
        r"unknown authority|unsupported elliptic curve",
        on_path(any_of(has_edwards_key(113), has_key_for_pss, curve_outside("1.3.132.0.33", *WEB_CURVES))),
        "TLS has Ed448, keys for RSASSA-PSS and more curves (RFC 8446, 4.2.3; RFC 8422); Go lacks them"),
    Row(
        DEFAULT, ("GnuTLS",),
        r"^insecure algorithm",
        on_path(curve_outside("1.3.132.0.33", *WEB_CURVES)),
        "secp256k1 and the Brainpool curves have the strength of 128 bits or more; GnuTLS lacks them"),
    Row(
        DEFAULT, ("Go", "GnuTLS"),
        r"algorithm unimplemented|^signature failure",
        below_anchor(has_other_salt),
        "a salt of RSASSA-PSS may have any length (RFC 4055, 3.1); strict and the library require the hash's"),
    Row(
        DEFAULT, ("pyca",),
        rf"Forbidden public key algorithm|{UNTOLD}",
        on_path(has_other_key),
        "TLS has more kinds of keys than the Web PKI; strict and pyca refuse them (BR 6.1.5)"),
    Row(
        DEFAULT, ("pyca",),
        rf"Forbidden signature algorithm|{UNTOLD}",
        below_anchor(has_other_encoding),
        "RFC 4055 has more encodings of RSA than the Web PKI; strict and pyca refuse them (BR 7.1.3.2)"),
    Row(
        BOTH, ("pyca",),
        r"EncodedDefault",
        has(encodes_default_of_pss),
        "OpenSSL reads the parameters of RSASSA-PSS with encoded defaults; strict refuses them, except in an anchor"),
    Row(
        BOTH, ("pyca",),
        r"ExtraData|InvalidValue",
        any_anchor(has_odd_parameters),
        "an anchor's signature isn't used, nor is its algorithm read; pyca reads it"),
    # The path.
    Row(
        BOTH, ("Go", "GnuTLS", "pyca"),
        r"too many intermediates|^signer constraints|signature does not match",
        has_self_issued_intermediate,
        "self-issued certificates don't count in the path length (RFC 5280, 4.2.1.9); the library counts them"),
    Row(
        BOTH, ("Go",),
        r"unknown authority$",
        both(has_other_candidates, exceeds_length_if_all_count),
        "self-issued certificates don't count in the path length (RFC 5280, 4.2.1.9); Go counts them, and then tells of "
        "another candidate"),
    Row(
        BOTH, OPENSSL,
        r"^10 ",
        ends_now,
        "a certificate is valid in its last second (RFC 5280, 4.1.2.5); OpenSSL refuses it there"),
    Row(
        BOTH, NOT_OPENSSL,
        r"invalid basic constraints|integer overflow|signer not CA|unparsed",
        anywhere(lambda each: (each.basic[1] or 0) >= 1 << 31),
        "a path length has no upper bound (RFC 5280, 4.2.1.9); the library has one"),
    # Purposes.
    Row(
        DEFAULT, ("pyca", "OpenSSL"),
        r"required EKU not found|^26 at 0",
        leaf_has(names_any_purpose_only),
        "anyExtendedKeyUsage includes serverAuth (RFC 5280, 4.2.1.12); strict refuses it in a leaf"),
    Row(
        BOTH, ("GnuTLS", *OPENSSL),
        r"purpose mismatch|^26 at [1-9]",
        anywhere(names_any_purpose_only),
        "anyExtendedKeyUsage of a CA includes serverAuth (RFC 5280, 4.2.1.12); the library requires serverAuth"),
    # Extensions that the library doesn't process.
    Row(
        BOTH, ("pyca", "GnuTLS"),
        rf"2\.5\.29\.(32|33|36|54): certificate contains unaccounted-for|unknown critical extension|{UNTOLD}",
        anywhere(any_of(*(extension("2.5.29." + arc, True) for arc in ("32", "33", "36", "54")))),
        "critical extensions of certificate policies are processed (RFC 5280, 6.1); the library doesn't support them"),
    # Form, of which the default profile checks less than strict, and strict nothing in an anchor.
    Row(
        BOTH, ("Go", "pyca"),
        rf"negative serial number|serial number cannot be negative|has no basicConstraints|{UNTOLD}",
        has(serial_is_negative),
        "serial numbers prove nothing to a client; strict refuses those that aren't positive, except an anchor's"),
    Row(
        BOTH, ("pyca",),
        rf"must have a serial between 1 and 20 octets|does not match|{UNTOLD}",
        has(serial_is_odd),
        "serial numbers prove nothing to a client; strict refuses those of more than 20 octets, except an anchor's"),
    Row(
        BOTH, ("pyca", "OpenSSL strict"),
        rf"must have a non-empty Issuer|^83 |{UNTOLD}",
        has(issuer_is_empty),
        "an empty name equals an empty name; strict refuses an empty issuer, except an anchor's"),
    Row(
        BOTH, ("OpenSSL strict",),
        r"^87 ",
        has(both_of(extension(chains.SAN), lambda each: not each.names)),
        "subjectAltName of an anchor isn't used; strict refuses an empty one below"),
    Row(
        BOTH, ("pyca", "OpenSSL strict"),
        rf"2\.5\.29\.15: Certificate is missing required extension|^81 |^92 |{UNTOLD}",
        has(lacks(chains.USAGE)),
        "without keyUsage, a CA may issue; strict requires it, except of an anchor"),
    Row(
        DEFAULT, ("pyca",),
        rf"2\.5\.29\.19: Certificate extension has incorrect criticality|{UNTOLD}",
        anywhere(extension(chains.BASIC, False)),
        "three roots of Debian's store have non-critical basicConstraints; strict refuses it"),
    Row(
        BOTH, ("pyca",),
        rf"2\.5\.29\.37: Certificate extension has incorrect criticality|{UNTOLD}",
        has_outside_leaf_if_strict(extension(chains.EXTENDED, True)),
        "extendedKeyUsage may be critical (RFC 5280, 4.2.1.12); strict refuses it in a leaf (BR 7.1.2.7.6)"),
    Row(
        BOTH, ("pyca",),
        UNTOLD,
        any_anchor(extension(chains.EXTENDED, True)),
        "extendedKeyUsage may be critical (RFC 5280, 4.2.1.12), in an anchor too"),
    Row(
        DEFAULT, ("pyca",),
        r"2\.5\.29\.35: Certificate is missing|must contain keyIdentifier",
        anywhere(lambda each: key_identifier(each, chains.AKI) is None),
        "authorityKeyIdentifier only orders the candidates; strict requires it"),
    Row(
        DEFAULT, ("pyca",),
        r"cA must not be asserted in an EE certificate",
        leaf_has(lambda leaf: leaf.basic[0]),
        "nothing in RFC 5280 keeps a CA's certificate from a server; strict refuses it (BR 7.1.2.7.8)"),
    Row(
        DEFAULT, ("pyca",),
        r"EE keyUsage must not assert keyCertSign",
        leaf_has(lambda leaf: 5 in (leaf.usage or ())),
        "the bit gives nothing to a leaf without cA; strict refuses it"),
    Row(
        DEFAULT, ("pyca",),
        r"EE subjectAltName MUST be critical",
        leaf_has(lambda leaf: not leaf.subject and chains.SAN not in leaf.critical),
        "subjectAltName is read whether or not it is critical; strict requires it beside an empty subject"),
    Row(
        DEFAULT, ("pyca",),
        r"EE subjectAltName MUST NOT be critical",
        leaf_has(lambda leaf: leaf.subject and chains.SAN in leaf.critical),
        "subjectAltName is read whether or not it is critical; strict refuses it beside a subject"),
    Row(
        BOTH, ("pyca",),
        r"InvalidVersion",
        has(lambda each: each.version == 2),
        "version 2 without extensions is a version of X.509; strict requires version 3, except of an anchor"),
    Row(
        BOTH, ("Go", "pyca"),
        r"invalid PrintableString|InvalidValue",
        has(has_bad_text),
        "names are compared and not read; strict refuses characters that a string type lacks, except in an anchor"),
    Row(
        BOTH, ("pyca",),
        r"EncodedDefault",
        has(has_explicit_default),
        "some CAs encode that an extension isn't critical; strict refuses it, except in an anchor"),
    Row(
        DEFAULT, ("Go", "OpenSSL"),
        r"invalid certificate policies|^42 ",
        anywhere(any_of(repeats_policy, has_malformed_policies, breaks_der)),
        "no policy is required, so policies aren't processed; strict refuses malformed ones, and one that is listed "
        "twice"),
]

# The library accepts, this project refuses. Rules of both profiles come first, then those of strict.
REFUSED = [
    # DER.
    Row(
        BOTH, ANYONE,
        r"not whole bytes",
        has_unused_bits,
        "keys and signatures are whole octets (RFC 3279, 2.2 and 2.3); the library ignores or shifts unused bits, which "
        "gives one key many pins"),
    Row(
        BOTH, ANYONE,
        r"DER|at byte|malformed:",
        is_unreadable,
        "certificates are DER (RFC 5280, 4.1), parsed before anything is decided; the library reads looser "
        "encodings, or not this part"),
    Row(
        BOTH, ANYONE,
        r"unable to get local issuer|is not a trust anchor|not signed by the key",
        both(no_path, is_unreadable),
        "a certificate that isn't DER can't be an issuer; the library reads looser encodings, or not this part"),
    Row(
        BOTH, NOT_OPENSSL,
        r"OpenSSL cannot parse it",
        anywhere(breaks_der),
        "certificates are DER (X.690, 8 to 11), which OpenSSL checks to the value; the library doesn't decode this "
        "one"),
    Row(
        BOTH, NOT_OPENSSL,
        r"OpenSSL cannot parse it",
        anywhere(has_odd_attribute),
        "names consist of strings (RFC 5280, 4.1.2.4); the library takes any value"),
    Row(
        BOTH, NOT_OPENSSL,
        r"OpenSSL cannot parse it \(illegal characters\)",
        anywhere(has_no_unicode),
        "strings of wide characters have those of Unicode (X.690, 8.23); the library takes any number"),
    Row(
        BOTH, NOT_OPENSSL,
        r"OpenSSL cannot parse it \(invalid certificate\)",
        anywhere(any_of(has_odd_path_length, breaks_der)),
        "a path length is a CA's, and not negative (RFC 5280, 4.2.1.9); the library ignores it, or reads another "
        "number"),
    Row(
        BOTH, NOT_OPENSSL,
        r"OpenSSL cannot parse it \(invalid certificate\)",
        anywhere(has_odd_identifier),
        "authorityKeyIdentifier has the fields of RFC 5280, 4.2.1.1; the library doesn't decode it, or ignores others"),
    Row(
        BOTH, NOT_OPENSSL,
        r"OpenSSL cannot parse it \(invalid certificate\)",
        anywhere(has_odd_other_name),
        "the fields of an alternative name are those of its kind (RFC 5280, 4.2.1.6); the library doesn't decode them"),
    Row(
        BOTH, NOT_OPENSSL,
        r"OpenSSL cannot parse it \(too (long|short)\)",
        anywhere(has_other_attribute),
        "values of some attributes have a length (X.520); the library takes any value"),
    # Paths.
    Row(
        BOTH, NOT_OPENSSL,
        r"not signed by the key|unable to get local issuer|is not a trust anchor|self-signed",
        anywhere(lambda each: each.is_self_issued and key_identifier(each, chains.AKI) is None),
        "a self-issued certificate that isn't self-signed has authorityKeyIdentifier (RFC 5280, 4.2.1.1); OpenSSL "
        "takes one without for self-signed"),
    Row(
        BOTH, ANYONE,
        r"not signed by the key|unable to get local issuer|is not a trust anchor",
        both(no_path, repeats_name_and_key),
        "a path has a name and key once, which ends every loop (RFC 4158, 2.4.1); the library compares more"),
    # The leaf.
    Row(
        BOTH, ("Go", "GnuTLS", "pyca"),
        r"its keyUsage does not allow TLS",
        leaf_has(lambda leaf: leaf.usage is not None and leaf.usage.isdisjoint({0, 2, 4})),
        "keyUsage restricts the key (RFC 5280, 4.2.1.3); the library leaves the leaf's to the handshake, or ignores "
        "it"),
    Row(
        BOTH, ANYONE,
        r"has nameConstraints, which only CA",
        leaf_has(extension(chains.CONSTRAINTS)),
        "only CA certificates may have nameConstraints (RFC 5280, 4.2.1.10); the library ignores a leaf's"),
    Row(
        BOTH, ("GnuTLS",),
        r"^leaf .*hostname mismatch",
        leaf_has(lambda leaf: all(kind not in (2, 7) for kind, _ in leaf.names)),
        "the common name is no host (RFC 9525, 2); GnuTLS falls back to it"),
    Row(
        BOTH, ("GnuTLS",),
        r"^leaf .*hostname mismatch",
        leaf_has(alternative_name(lambda name: re.match(rb"\*[^.]", name))),
        "a wildcard is a whole label (RFC 9525, 6.3); GnuTLS takes it for the start of one"),
    Row(
        BOTH, ("GnuTLS", *OPENSSL),
        r"^leaf .*hostname mismatch",
        both(host_has_trailing_dot, leaf_has(alternative_name(lambda name: name.endswith(b".")))),
        "names in certificates end without a dot (RFC 5280, 4.2.1.6), and only the host's is taken off; the library "
        "compares text"),
    Row(
        BOTH, ("Go", "pyca"),
        r"^leaf .*hostname mismatch",
        leaf_has(alternative_name(lambda name: re.fullmatch(rb"\*\.[^.]+", name))),
        "a wildcard is followed by at least two labels (BR 3.2.2.6); the library takes *.com"),
    # Issuers.
    Row(
        BOTH, ("GnuTLS",),
        r"is not a CA certificate",
        both(no_path, any_anchor(lambda each: not each.basic[0])),
        "an anchor is a CA too (RFC 5280, 4.2.1.9); GnuTLS trusts every anchor to issue"),
    Row(
        BOTH, ("Go",),
        r"is not a CA certificate",
        both(no_path, any_anchor(lambda each: each.version < 3 and not each.basic[0])),
        "only an anchor of version 1 without extensions needs no basicConstraints; Go asks for it from version 3 on"),
    Row(
        DEFAULT, ("OpenSSL",),
        r"is not a CA certificate",
        both(no_path, anywhere(lambda each: chains.BASIC not in each.extensions)),
        "a CA has basicConstraints (RFC 5280, 4.2.1.9); OpenSSL takes keyCertSign or the version for it"),
    Row(
        BOTH, ("Go",),
        r"its keyUsage lacks keyCertSign",
        both(no_path, anywhere(lambda each: each.usage is not None and 5 not in each.usage)),
        "an issuer's keyUsage has keyCertSign (RFC 5280, 4.2.1.3); Go doesn't look at it"),
    Row(
        BOTH, ANYONE,
        r"nameConstraints (has|limits)",
        anywhere(constraints_have_defect),
        "constraints that can't be applied are refused (RFC 5280, 4.2.1.10); the library ignores what it doesn't "
        "understand, or needs it for no name"),
    Row(
        BOTH, ("GnuTLS",),
        r"name .* is (not permitted|excluded) by",
        both(no_path, anywhere(constrains(4))),
        "constraints apply to the subject (RFC 5280, 4.2.1.10); GnuTLS has no constraints on directory names"),
    Row(
        BOTH, ("Go", "pyca"),
        r"name .* is (not permitted|excluded) by",
        both(no_path, anywhere(both_of(constrains(4), extension(chains.CONSTRAINTS, False)))),
        "constraints on directory names apply though not critical (RFC 5280, 4.2.1.10); the library skips those"),
    Row(
        BOTH, ("GnuTLS",),
        r"is (not permitted|excluded) by",
        both(no_path, anywhere(constrains_dns(lambda base: base != base.lower() or base[:1] == b"." or not base))),
        "constraints on DNS names ignore case (RFC 5280, 7.2), and an empty one covers every name; GnuTLS differs"),
    Row(
        BOTH, ("Go",),
        r"name of type \d is not permitted",
        leaf_has(lambda leaf: leaf.has_constructed_name),
        "a constructed dNSName is none (X.690, 10.2), so that constraints don't permit it; Go ignores it"),
    Row(
        BOTH, ANYONE,
        r"is malformed, and names of its type are constrained",
        both(no_path, has_malformed_constrained_name),
        "a malformed name can't be compared with constraints (RFC 5280, 4.2.1.10); the library ignores it, or reads "
        "it"),
    Row(
        BOTH, ("GnuTLS",),
        r"is (not permitted|excluded) by",
        both(no_path, anywhere(constrains(2))),
        "constraints apply to every DNS name; GnuTLS intersects them with the ones above as text"),
    Row(
        BOTH, ("GnuTLS",),
        r"is (not permitted|excluded) by",
        both(no_path, anywhere(constrains(7))),
        "constraints apply to every name of their kind (RFC 5280, 4.2.1.10); GnuTLS intersects those on addresses "
        "with the ones above"),
    Row(
        BOTH, ("GnuTLS", *OPENSSL),
        r"\*\.\S+ is excluded by",
        both(no_path, leaf_has(alternative_name(lambda name: name.startswith(b"*.")))),
        "a wildcard covers the names that it matches, an excluded one too (CVE-2025-61727); the library compares the "
        "asterisk as a label"),
    Row(
        BOTH, ANYONE,
        r"is version \d but has extensions",
        anywhere(lambda each: each.version < 3 and each.extensions),
        "extensions are of version 3 (RFC 5280, 4.1.2.9); the library doesn't compare"),
    Row(
        BOTH, ("Go",),
        r"unhandled critical extension",
        both(no_path, anywhere(lambda each: each.version < 3 and each.critical)),
        "a critical extension counts in every version (RFC 5280, 4.1.2.9 and 4.2); Go reads those of version 3 only"),
    Row(
        BOTH, ("GnuTLS", "pyca"),
        r"unhandled critical extension 2\.5\.29\.(14|18|35)",
        anywhere(any_of(*(extension("2.5.29." + arc, True) for arc in ("14", "18", "35")))),
        "key identifiers and issuerAltName are only hints here, so a critical one isn't processed (RFC 5280, 4.2); "
        "the library knows it"),
    Row(
        BOTH, ("GnuTLS",),
        r"unhandled critical extension|is not a CA certificate|hostname mismatch",
        both(no_path, anywhere(has_broken_identifier)),
        "an object identifier with a padded or incomplete number names no extension (X.690, 8.19.2); GnuTLS takes the "
        "padding or the number off"),
    Row(
        BOTH, ("Go",),
        r"unhandled critical extension 2\.5\.29\.(14|35)",
        any_anchor(any_of(extension(chains.SKI, True), extension(chains.AKI, True))),
        "critical extensions of an anchor count too (RFC 5280, 4.2); Go doesn't look at an anchor's"),
    # Policies.
    Row(
        BOTH, ANYONE,
        r"has policyConstraints but no certificatePolicies",
        anywhere(both_of(extension("2.5.29.36"), lacks(chains.POLICIES))),
        "no certificate below can be valid for a policy (RFC 5280, 6.1.3 (e)); OpenSSL 3.0 leaks memory over it"),
    Row(
        BOTH, NOT_OPENSSL,
        r"no explicit policy|policy extension",
        anywhere(maps_any_policy),
        "policies aren't mapped to or from anyPolicy (RFC 5280, 4.2.1.5); the library doesn't read a leaf's "
        "mappings, or none"),
    Row(
        BOTH, NOT_OPENSSL,
        r"no explicit policy|policy extension",
        anywhere(lambda each: each.extensions.get("2.5.29.36") == b"\x30\0"),
        "policyConstraints isn't an empty sequence (RFC 5280, 4.2.1.11); the library reads it as no constraint"),
    Row(
        BOTH, ("GnuTLS", "pyca"),
        r"no explicit policy|policy extension",
        anywhere(any_of(*map(extension, POLICY_KINDS))),
        "a policy is required and the path is valid for none (RFC 5280, 6.1.5 (g)); the library doesn't process "
        "policies"),
    # Keys and signatures.
    Row(
        BOTH, ANYONE,
        r"its key is too weak",
        both(no_path, anywhere(any_of(
            key_of_rsa(lambda modulus, exponent: modulus.bit_length() < 2048), curve_outside(*TLS_CURVES)))),
        "RSA has at least 2048 bits (SP 800-57); the library takes fewer, or doesn't look at this key"),
    Row(
        BOTH, ANYONE,
        r"larger than 8192 bits",
        both(no_path, anywhere(key_of_rsa(lambda modulus, exponent: modulus.bit_length() > 8192))),
        "RSA has at most 8192 bits, since larger keys take long (CVE-2023-29409); the library has no such limit"),
    Row(
        BOTH, ANYONE,
        r"its RSA key has an unusual exponent",
        both(no_path, anywhere(key_of_rsa(has_odd_exponent))),
        "an RSA exponent is odd, at least 3, and of at most 33 bits; the library has other limits, or doesn't look at "
        "this key"),
    Row(
        BOTH, ANYONE,
        r"its key is (EC|DSA) .* which TLS does not support",
        both(no_path, anywhere(any_of(has_dsa_key, curve_outside(*TLS_CURVES)))),
        "TLS has no DSA, and named curves alone from P-224 on (RFC 8446, 4.2.3; RFC 8422, 5.1.1); the library takes "
        "others, or doesn't look at this key"),
    Row(
        BOTH, ANYONE,
        r"signature algorithm is too weak or unsupported",
        both(no_path, anywhere(has_other_algorithm)),
        "signatures are by RSA or ECDSA with SHA-256 or better, or an Edwards curve; the library takes others"),
    Row(
        BOTH, ("GnuTLS",),
        r"signature digest algorithm too weak",
        both(no_path, anywhere(has_odd_parameters)),
        "the length of a salt isn't negative (RFC 4055, 3.1); GnuTLS takes it for the hash's"),
    Row(
        BOTH, ("pyca", "GnuTLS", *OPENSSL),
        r"its key is key of malformed parameters",
        anywhere(lacks_null),
        "the parameters of rsaEncryption are NULL (RFC 3279, 2.3.1); the library takes absent ones"),
    Row(
        BOTH, NOT_OPENSSL,
        r"unspecified certificate verification error",
        anywhere(lambda each: each.key is None),
        "a key must be one that OpenSSL can read; the library doesn't look at a key that verifies no certificate"),
    Row(
        BOTH, ("pyca", *OPENSSL),
        r"its key is EC .* with a point that isn't uncompressed",
        anywhere(has_other_point),
        "points are uncompressed (RFC 8422, 5.1.2; RFC 5480, 2.2); the library reads other forms, which gives one key "
        "three pins"),
    Row(
        BOTH, ANYONE,
        r"its key is|its RSA key|key too weak",
        both(no_path, either(is_unreadable, anywhere(lambda each: not each.is_strong()))),
        "a key is of a kind that TLS has and that OpenSSL can read; the library doesn't look at a key that verifies "
        "no certificate, or takes another spelling"),
    Row(
        BOTH, ("GnuTLS", *OPENSSL),
        r"its signature algorithm differs|has expired",
        both(no_path, anywhere(lambda each: each.inner != each.outer)),
        "both places name the same algorithm (RFC 5280, 4.1.1.2), in an anchor too; the library compares them only "
        "with a signature, or not at all"),
    Row(
        BOTH, ("Go", "GnuTLS", *OPENSSL),
        r"signature algorithm is too weak or unsupported",
        both(no_path, anywhere(has_odd_parameters)),
        "an algorithm has the parameters of RFC 4055 and RFC 5758; the library ignores others"),
    # Purposes.
    Row(
        BOTH, ("Go", "GnuTLS"),
        r"\(its extendedKeyUsage is empty",
        anywhere(lambda each: each.purposes == set()),
        "an empty extendedKeyUsage allows nothing (RFC 5280, 4.2.1.12: one or more); the library takes it for none"),
    Row(
        BOTH, OPENSSL,
        r"unsuitable certificate purpose \((?!its)",
        both(no_path, anywhere(lambda each: each.purposes is not None and not each.purposes.isdisjoint(STEP_UP))),
        "only serverAuth and anyExtendedKeyUsage are for servers; OpenSSL accepts the step-up purposes of the 1990s"),
    Row(
        BOTH, ("GnuTLS", "Go"),
        r"unsuitable certificate purpose \((?!its)",
        both(no_path, anywhere(lambda each: each.purposes is not None and each.purposes.isdisjoint({chains.SERVER,
            chains.ANY}))),
        "a CA's and an anchor's extendedKeyUsage restricts the certificates below; the library doesn't apply an "
        "anchor's"),

    # Rules of strict.
    strict_row(
        r"is a CA certificate: use an end-entity|has a path length, which only CA|has (keyCertSign|cRLSign), which",
        leaf_has(lambda leaf: leaf.basic[0] or leaf.basic[1] is not None or {5, 6} & (leaf.usage or set())),
        "a server's certificate isn't a CA's (BR 7.1.2.7.8)"),
    strict_row(
        r"has no extendedKeyUsage|allows any purpose|extendedKeyUsage is critical",
        leaf_has(lambda leaf: leaf.purposes is None or chains.ANY in leaf.purposes or chains.EXTENDED in leaf.critical),
        "a server's certificate is for servers (BR 7.1.2.7.6)"),
    strict_row(
        r"without subjectKeyIdentifier",
        anywhere(lambda each: key_identifier(each, chains.SKI) is None),
        "a CA certificate has subjectKeyIdentifier (RFC 5280, 4.2.1.2)"),
    strict_row(
        r"has no authorityKeyIdentifier",
        anywhere(lambda each: key_identifier(each, chains.AKI) is None),
        "a certificate has authorityKeyIdentifier (RFC 5280, 4.2.1.1)"),
    strict_row(
        r"authorityKeyIdentifier does not match|key identifiers differ|authorityKeyIdentifier names a certificate",
        identifiers_mismatch,
        "key identifiers name the same key (RFC 5280, 4.2.1.1 and 4.2.1.2; BR 7.1.2.1)"),
    strict_row(
        r"is a root with extendedKeyUsage",
        anywhere(extension(chains.EXTENDED)),
        "a root has no extendedKeyUsage (BR 7.1.2.1)"),
    strict_row(
        r"without basicConstraints|basicConstraints is not critical",
        anywhere(lambda each: chains.BASIC not in each.critical),
        "a CA's basicConstraints is critical (RFC 5280, 4.2.1.9)"),
    strict_row(
        r"without keyUsage",
        anywhere(lacks(chains.USAGE)),
        "a CA certificate has keyUsage (RFC 5280, 4.2.1.3)"),
    strict_row(
        r"has an empty issuer",
        anywhere(issuer_is_empty),
        "an issuer has a name (RFC 5280, 4.1.2.4)"),
    strict_row(
        r"serial number (is not positive|has \d+ bytes)",
        anywhere(serial_is_odd),
        "a serial number is positive and has at most 20 octets (RFC 5280, 4.1.2.2)"),
    strict_row(
        r"its nameConstraints is not critical|with a leading dot",
        anywhere(any_of(extension(chains.CONSTRAINTS, False), constrains_dns(lambda base: base[:1] == b"."))),
        "nameConstraints is critical, and a DNS name in it has no leading dot (RFC 5280, 4.2.1.10)"),
    strict_row(
        r"policyConstraints or inhibitAnyPolicy is not critical",
        anywhere(any_of(extension("2.5.29.36", False), extension("2.5.29.54", False))),
        "policyConstraints and inhibitAnyPolicy are critical (RFC 5280, 4.2.1.11 and 4.2.1.14)"),
    strict_row(
        r"its certificatePolicies is malformed",
        anywhere(has_malformed_policies),
        "policies have an identifier and perhaps qualifiers (RFC 5280, 4.2.1.4)"),
    strict_row(
        r"has a policy twice",
        anywhere(repeats_policy),
        "a policy is listed once (RFC 5280, 4.2.1.4)"),
    strict_row(
        r"subjectAltName is (not )?critical",
        leaf_has(lambda leaf: bool(leaf.subject) == (chains.SAN in leaf.critical)),
        "subjectAltName is critical exactly beside an empty subject (RFC 5280, 4.2.1.6)"),
    strict_row(
        r"its subjectAltName is empty|has no subjectAltName",
        anywhere(lambda each: not each.names),
        "subjectAltName has a name (RFC 5280, 4.2.1.6)"),
    strict_row(
        r"its alternative name .* is malformed",
        leaf_has(has_malformed_name),
        "alternative names are hostnames and addresses (BR 7.1.2.7.12)"),
    strict_row(
        r"its common name .* is spelled differently",
        leaf_has(has_other_common_name),
        "a common name is one of the alternative names (BR 7.1.4.3)"),
    strict_row(
        r"signature algorithm is encoded differently",
        anywhere(lambda each: each.inner != each.outer),
        "both places spell the algorithm alike (RFC 5280, 4.1.1.2)"),
    strict_row(
        r"is version [12]: reissue it as version 3",
        anywhere(lambda each: each.version < 3),
        "certificates are of version 3 (BR 7.1.1)"),
    strict_row(
        r"has an encoded default value",
        anywhere(has_explicit_default),
        "DER omits defaults (X.690, 11.5)"),
    strict_row(
        r"has a GeneralizedTime before 2050",
        anywhere(has_early_generalized_time),
        "times before 2050 are UTCTime (RFC 5280, 4.1.2.5)"),
    strict_row(
        r"has unique identifiers",
        anywhere(lambda each: each.has_unique_identifiers),
        "certificates have no unique identifiers (RFC 5280, 4.1.2.8)"),
    strict_row(
        r"reissue it as DER",
        anywhere(any_of(breaks_der, has_bad_text, breaks_structure)),
        "every part of a certificate is DER (X.690, 8 to 11), also what isn't decoded"),
    strict_row(
        r"its authorityInfoAccess",
        anywhere(extension("1.3.6.1.5.5.7.1.1")),
        "authorityInfoAccess is well formed (RFC 5280, 4.2.2.1)"),
    strict_row(
        r"parameters that the Web PKI does not have",
        anywhere(has_other_encoding),
        "RSA signatures have the encodings of the Web PKI (BR 7.1.3.2.1)"),
    strict_row(
        r"the Web PKI has only",
        anywhere(has_other_key),
        "keys are those of the Web PKI (BR 6.1.5)"),
]


def explanation(difference):
    """The direction, library and reason of the first row that fits, or None."""
    if difference.accepts:
        reason = difference.path and first_reason(ACCEPTED, difference)
    else:
        # With several candidates, the most useful finding may be about a path that the library didn't take. Then the
        # DER alone explains why that one isn't valid.
        reason = first_reason(REFUSED, difference) or (
            has_several_candidates(difference) and first_reason(REFUSED, difference, any_finding=True))
    direction = "accepted, refused by" if difference.accepts else "refused, accepted by"
    return (direction, difference.peer, reason) if reason else None


def first_reason(rows, difference, any_finding=False):
    for row in rows:
        is_about = difference.profile in row.profiles and difference.peer in row.peers
        matches = any_finding or re.search(row.pattern, difference.refusal, re.DOTALL)
        if is_about and matches and holds(row.condition, difference):
            return row.reason
    return None


def holds(condition, difference):
    """A condition on octets that aren't there doesn't hold."""
    try:
        return condition(difference)
    except (Malformed, IndexError, ValueError):
        return False
