"""What the DER of a case proves about a difference. `explanations.py` builds its conditions from these functions."""

import functools
import re

from cryptography.hazmat.primitives.asymmetric import ec

import chains
import harness
import reference
from der import oid, parse
from limbo import unpem

PRINTABLE = re.compile(rb"[A-Za-z0-9 '()+,./:=?-]*")

# SHA-1, and those of NIST.
HASH_IDENTIFIERS = re.compile(rb"\x06\x05\x2b\x0e\x03\x02\x1a|\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02.", re.DOTALL)

NOT_THE_PATH = "accepted without the other certificates"


class Difference:
    """A case that a profile of this project and a library judge differently."""

    def __init__(self, case, profile, peer, answers):
        self.case, self.profile, self.peer, self.answers = case, profile, peer, answers
        self.accepts = self.accepted_by(profile)
        # The reason of the side that refuses.
        self.refusal = answers[peer if self.accepts else profile].get("context") or ""
        # Of several candidates, pyca tells what it has against the last one. About the path, it tells from the leaf on
        # what is the first that it refuses.
        if self.accepts and peer == "pyca" and self.path and has_other_candidates(self):
            reasons = (harness.refusal(self.case_of_path(end)) for end in range(1, len(self.path)))
            self.refusal = next(filter(None, reasons), f"{NOT_THE_PATH}: {self.refusal}")

    def __str__(self):
        who = (self.profile, self.peer) if self.accepts else (self.peer, self.profile)
        return f"{self.case['id']}\n  {who[0]} accepts, {who[1]} refuses: {self.refusal}"

    def accepted_by(self, name):
        return self.answers[name]["actual_result"] == "SUCCESS"

    @functools.cached_property
    def texts(self):
        return [self.case["peer_certificate"], *self.case["untrusted_intermediates"], *self.case["trusted_certs"]]

    @functools.cached_property
    def certificates(self):
        """The certificates that are DER, each once."""
        return list(dict.fromkeys(filter(None, map(reference.certificate, self.texts))))

    @functools.cached_property
    def leaf(self):
        return reference.certificate(self.case["peer_certificate"])

    @functools.cached_property
    def anchors(self):
        return [each for each in map(reference.certificate, self.case["trusted_certs"]) if each]

    @functools.cached_property
    def path(self):
        """The valid path that the reference finds, or None."""
        return reference.valid_path(self.case)

    def case_of_path(self, end):
        """The case with certificates of the path alone, the one at `end` as the anchor."""
        text_of = {unpem(text): text for text in self.texts}
        leaf, *others, anchor = [text_of[each.octets] for each in self.path[: end + 1]]
        return self.case | {"trusted_certs": [anchor], "untrusted_intermediates": others, "peer_certificate": leaf}

    @functools.cached_property
    def edges(self):
        return list(zip(self.path, self.path[1:]))


# Evidence about certificates.


def has(test):
    """Some certificate is so. Under strict, whose rules cover what is below the anchor, it is another one."""
    def condition(difference):
        covered = difference.path[:-1] if difference.profile == "strict" and difference.path else []
        return any(test(each) for each in difference.certificates if each not in covered)
    return condition


def anywhere(test):
    """Some certificate is so, wherever it is in the path."""
    return lambda difference: any(map(test, difference.certificates))


def has_outside_leaf_if_strict(test):
    """Some certificate is so, and under strict it isn't the leaf."""
    return lambda difference: any(
        test(each) for each in difference.certificates if difference.profile != "strict" or each is not difference.leaf)


def any_of(*tests):
    return lambda certificate: any(test(certificate) for test in tests)


def both_of(*tests):
    return lambda certificate: all(test(certificate) for test in tests)


def leaf_has(test):
    return lambda difference: difference.leaf is not None and test(difference.leaf)


def extension(identifier, is_critical=None):
    """The certificate has the extension, with this criticality unless that is None."""
    return lambda certificate: identifier in certificate.extensions and (
        is_critical is None or (identifier in certificate.critical) == is_critical)


def has_broken_identifier(certificate):
    """The identifier of an extension isn't DER. The reference names such a one by its octets."""
    return any("." not in identifier for identifier in certificate.extensions)


def lacks(identifier):
    return lambda certificate: identifier not in certificate.extensions


def serial_is_negative(certificate):
    return certificate.serial[:1] >= b"\x80"


def serial_is_odd(certificate):
    """Not positive, or of more than 20 octets."""
    return serial_is_negative(certificate) or not any(certificate.serial) or len(certificate.serial) > 20


def names_a_certificate(certificate):
    """authorityKeyIdentifier names a certificate, besides a key or in place of one."""
    return bool({each.tag for each in certificate.sequence(chains.AKI) or []} & {0xA1, 0x82})


def issuer_is_empty(certificate):
    return not any(certificate.issuer)


def key_identifier(certificate, kind):
    """The identifier of the certificate's own key, or of its issuer's; None without one."""
    try:
        if kind == chains.SKI:
            return reference.only(certificate.extensions[kind], 4)
        return next(each.contents for each in certificate.sequence(kind) if each.tag == 0x80)
    except (KeyError, StopIteration, TypeError, reference.Malformed):
        return None


def names_any_purpose_only(certificate):
    purposes = certificate.purposes
    return purposes is not None and chains.ANY in purposes and chains.SERVER not in purposes


def subtrees(certificate):
    """The subtrees of nameConstraints as (kind, base), also if the extension has defects."""
    found = []
    try:
        for subtree_list in certificate.sequence(chains.CONSTRAINTS) or []:
            for subtree in reference.elements(subtree_list.contents):
                base = reference.elements(subtree.contents)[0]
                found.append((base.tag & 0x1F, base.contents))
    except (reference.Malformed, IndexError):
        pass
    return found


def constrains(*kinds):
    return lambda certificate: any(kind in kinds for kind, _ in subtrees(certificate))


def constrains_dns(test):
    return lambda certificate: any(kind == 2 and test(base) for kind, base in subtrees(certificate))


def constraints_overlap_as_text(difference):
    """Two certificates constrain DNS names, and one base ends with the other in the middle of a label."""
    bases = [{base for kind, base in subtrees(each) if kind == 2} for each in difference.certificates]
    return any(
        base and not base.startswith(b".") and other.endswith(base) and not reference.is_within(other, base)
        for some in bases for more in bases if some is not more for base in some for other in more)


def constraints_have_defect(certificate):
    """nameConstraints that can't be applied: no subtrees, or a base that its kind doesn't allow."""
    try:
        return certificate.constraints is not None and not reference.obeys(certificate.constraints, [])
    except (reference.Malformed, ValueError, IndexError):
        return True


def alternative_name(test):
    return lambda certificate: any(kind == 2 and test(name) for kind, name in certificate.names)


def has_explicit_default(certificate):
    """A BOOLEAN false where that is the default: of criticality, or of cA in basicConstraints (X.690, 11.5)."""
    basic = certificate.extensions.get(chains.BASIC, b"")
    return explicit_false(certificate) or basic.startswith(b"\x30\x03\x01\x01\0")


def encodes_default_of_pss(certificate):
    """Parameters of RSASSA-PSS with SHA-1, a salt of 20 or the trailer 1, which are the defaults (RFC 4055, 3.1)."""
    identifier, parameters = signature_algorithm(certificate)
    defaults = (oid("1.3.14.3.2.26"), b"\xa2\3\2\1\x14", b"\xa3\3\2\1\1")
    return identifier == "1.2.840.113549.1.1.10" and any(each in parameters for each in defaults)


def explicit_false(certificate):
    fields = reference.elements(reference.only(certificate.tbs, 0x30))
    for each in reference.elements(reference.only(fields[-1].contents, 0x30)) if fields[-1].tag == 0xA3 else ():
        if [field.tag for field in reference.elements(each.contents)] == [6, 1, 4] and b"\x01\x01\0" in each.contents:
            return True
    return False


def has_bad_text(certificate):
    """A string with characters that its type doesn't have."""
    def is_bad(node):
        match node.tag if node.children is None else None:
            case 19:
                return not PRINTABLE.fullmatch(node.content)
            case 22 | 26:
                return not node.content.isascii()
            case 12:
                return node.content != node.content.decode(errors="ignore").encode()
        return False
    return any(is_bad(node) for tree in parse(certificate.octets) for node in tree.nodes())


def breaks_der(certificate):
    """A primitive element that DER doesn't allow: X.690, sections 8.3.2, 8.8.2, 8.19.2, 10 and 11."""
    def is_broken(node):
        text = node.content
        if node.children is not None:
            return False
        match node.tag:
            case 1:
                return text not in (b"\0", b"\xff")
            case 2 | 10:
                return not text or len(text) > 1 and (
                    text[0] == 0 and text[1] < 0x80 or text[0] == 0xFF and text[1] >= 0x80)
            case 5:
                return bool(text)
            case 6:
                return not text or text[-1] >= 0x80 or text[0] == 0x80 or any(
                    octet == 0x80 and before < 0x80 for before, octet in zip(text, text[1:]))
            case 3:
                return not text or text[0] > 7 or len(text) == 1 and text[0] > 0
            case 12:
                return text != text.decode(errors="ignore").encode()
            case 30:
                return len(text) % 2 == 1
            case 28:
                return len(text) % 4 != 0
        return False
    return any(is_broken(node) for tree in parse(certificate.octets) for node in tree.nodes())


def has_other_attribute(certificate):
    """An attribute of a type whose values X.520 limits in length, such as two letters for a country."""
    kinds = {dotted for relative in certificate.issuer + certificate.subject for dotted, _ in relative}
    return bool(kinds - {b"\x55\x04\x03", b"\x55\x04\x05", b"\x55\x04\x0a"})


def has_odd_attribute(certificate):
    """An attribute of a name whose value isn't one of the strings of X.520."""
    values = (node.children[1] for octets in (certificate.issuer_octets, certificate.subject_octets)
              for node in parse(octets)[0].nodes() if node.tag == 0x30 and node.children and node.children[0].tag == 6)
    return any(value.tag not in (12, 19, 20, 22, 28, 30) for value in values)


def has_no_unicode(certificate):
    """A BMPString or UniversalString of a name with a number that is no character of Unicode, or half of one."""
    def is_odd(node):
        width = {28: 4, 30: 2}.get(node.tag)
        numbers = [int.from_bytes(node.content[at : at + width], "big") for at in range(0, len(node.content), width)
                   ] if width else []
        return any(number > 0x10FFFF or 0xD800 <= number < 0xE000 for number in numbers)
    return any(is_odd(node) for octets in (certificate.issuer_octets, certificate.subject_octets)
               for node in parse(octets)[0].nodes())


def has_odd_path_length(certificate):
    is_authority, length = certificate.basic
    return length is not None and (length < 0 or length >= 1 << 63 or not is_authority)


def has_odd_identifier(certificate):
    """authorityKeyIdentifier with other fields than RFC 5280 has, or out of order."""
    tags = [each.tag for each in certificate.sequence(chains.AKI) or []]
    return tags != [tag for tag in (0x80, 0xA1, 0x82) if tag in tags]


def has_odd_other_name(certificate):
    """An otherName, x400Address or ediPartyName, whose fields the reference doesn't read."""
    return any(kind in (0, 3, 5) for kind, _ in certificate.names)


def has_other_point(certificate):
    """The key is a point in another form than the uncompressed one."""
    return isinstance(certificate.key, ec.EllipticCurvePublicKey) and certificate.key_octets[:1] != b"\4"


def lacks_null(certificate):
    """An RSA key whose algorithm has no parameters."""
    return b"\x30\x0b\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01" in certificate.spki


def has_malformed_policies(certificate):
    """An entry of certificatePolicies that isn't an identifier and perhaps qualifiers."""
    try:
        fields = [reference.elements(each.contents) for each in certificate.sequence(chains.POLICIES) or []]
    except (reference.Malformed, IndexError):
        return True
    return any([each.tag for each in entry] not in ([6], [6, 0x30]) for entry in fields)


def signature_algorithm(certificate):
    """The identifier of the signature algorithm, and the DER of its parameters."""
    identifier, *parameters = reference.elements(reference.only(certificate.inner, 0x30))
    return reference.dotted(identifier.contents), b"".join(each.whole for each in parameters)


def has_other_algorithm(certificate):
    """A signature algorithm that isn't RSA or ECDSA with SHA-256 or better, or of an Edwards curve, or RSASSA-PSS with
    other hashes than these, or with two."""
    identifier, parameters = signature_algorithm(certificate)
    if identifier == "1.2.840.113549.1.1.10":
        hashes = HASH_IDENTIFIERS.findall(parameters)
        return len(hashes) != 2 or hashes[0] != hashes[1] or hashes[0][-1] not in (1, 2, 3)
    return identifier not in {
        *(f"1.2.840.113549.1.1.{last}" for last in (11, 12, 13)), *(f"1.2.840.10045.4.3.{last}" for last in (2, 3, 4)),
        "1.3.101.112", "1.3.101.113"}


def has_odd_parameters(certificate):
    """A signature algorithm whose parameters aren't absent, or NULL for RSA, or those of RSASSA-PSS."""
    try:
        identifier, parameters = signature_algorithm(certificate)
        if identifier == "1.2.840.113549.1.1.10":
            return not reference.pss_of(parameters)
    except (reference.Malformed, ValueError):
        return True
    return parameters not in ([b"", b"\5\0"] if identifier.startswith("1.2.840.113549.1.1.") else [b""])


def has_other_encoding(certificate):
    """The signature algorithm isn't, byte for byte, one that BR 7.1.3.2 lists."""
    identifier, parameters = signature_algorithm(certificate)
    if has_other_algorithm(certificate) or has_odd_parameters(certificate) or identifier.startswith("1.3.101."):
        return True
    if identifier == "1.2.840.113549.1.1.10":
        return has_other_salt(certificate) or parameters.count(b"\5\0") != 3 or b"\xa3" in parameters
    return (parameters == b"\5\0") != identifier.startswith("1.2.840.113549.")


def has_other_salt(certificate):
    """A signature by RSASSA-PSS whose salt isn't as long as the hash."""
    identifier, parameters = signature_algorithm(certificate)
    if identifier != "1.2.840.113549.1.1.10":
        return False
    digest, salt = reference.pss_of(parameters)
    return salt != digest.digest_size


def key_of_rsa(test):
    """The modulus and exponent of an RSA key are so."""
    def condition(certificate):
        if not certificate.key_algorithm.startswith(b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01"):
            return False
        numbers = reference.tagged(reference.only(certificate.key_octets, 0x30), 2, 2)
        return test(*(int.from_bytes(each.contents, "big", signed=True) for each in numbers))
    return condition


def has_odd_exponent(modulus, exponent):
    return exponent < 3 or exponent % 2 == 0 or exponent.bit_length() > 33


def curve_outside(*curves):
    """The key is on another curve than these, or on one that is given by its parameters or not at all."""
    def condition(certificate):
        if certificate.key_algorithm != b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01":
            return False
        return certificate.key_parameters[:1] != b"\6" or reference.dotted(certificate.key_parameters[2:]) not in curves
    return condition


def has_key_for_pss(certificate):
    return certificate.key_algorithm == reference.PSS


def has_edwards_key(*arcs):
    """The key is of one of these curves: 112 is Ed25519, 113 Ed448."""
    return lambda certificate: certificate.key_algorithm in [bytes([6, 3, 0x2B, 0x65, arc]) for arc in arcs]


def has_dsa_key(certificate):
    return certificate.key_algorithm == b"\x06\x07\x2a\x86\x48\xce\x38\x04\x01"


def maps_any_policy(certificate):
    return any(
        each.contents == b"\x55\x1d\x20\0" for pair in certificate.sequence("2.5.29.33") or []
        for each in reference.elements(pair.contents))


def has_malformed_name(certificate):
    """An alternative name that isn't a hostname without underscores, or an address."""
    def is_label(label):
        return re.fullmatch(rb"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?", label)
    return any(
        kind == 2 and not all(map(is_label, name.removeprefix(b"*.").split(b"."))) or
        kind == 7 and len(name) not in (4, 16) for kind, name in certificate.names)


def has_early_generalized_time(certificate):
    return b"\x18\x0f" in certificate.tbs and min(certificate.start, certificate.end) < "2050"


def breaks_structure(certificate):
    """A length, SET or string in several parts that DER doesn't allow, in an extension too."""
    def is_broken(octets):
        for each in reference.elements(octets):
            if each.tag & 0x20:
                if each.tag & 0xC0 == 0 and each.tag not in (0x30, 0x31) or is_broken(each.contents):
                    return True
                members = [member.whole for member in reference.elements(each.contents)]
                if each.tag == 0x31 and (not members or members != sorted(members)):
                    return True
            elif each.tag in (0x10, 0x11):
                return True
        return False
    try:
        return is_broken(certificate.octets) or any(map(is_broken, certificate.extensions.values()))
    except (reference.Malformed, IndexError):
        return True


def has_other_key(certificate):
    """A key that isn't RSA of whole octets and not for RSASSA-PSS alone, P-256, P-384 or P-521."""
    size, curve = getattr(certificate.key, "key_size", 0), getattr(certificate.key, "curve", None)
    return certificate.key is None or has_key_for_pss(certificate) or (
        curve.name not in ("secp256r1", "secp384r1", "secp521r1") if curve else not size or size % 8 != 0)


def has_other_common_name(leaf):
    """A common name that isn't, to the octet, one of the alternative names."""
    texts = [text for relative in leaf.subject for kind, text in relative if kind == b"\x55\x04\x03"]
    octets = [node.children[1].content for node in parse(leaf.subject_octets)[0].nodes()
              if node.tag == 0x30 and node.children and node.children[0].content == b"\x55\x04\x03"]
    names = [name for _, name in leaf.names]
    return bool(texts) and any(each not in names for each in octets)


def has_odd_or_other_identifier(difference):
    return names_issuer_certificate(difference) or any(has_odd_identifier(below) for below, _ in difference.edges)


def policy_identifiers(certificate):
    return [reference.element(each.contents, 0).contents for each in certificate.sequence(chains.POLICIES) or []]


def repeats_policy(certificate):
    found = policy_identifiers(certificate)
    return len(found) != len(set(found))


# Evidence about the proven path.


def on_path(test):
    return lambda difference: any(map(test, difference.path))


def below_anchor(test):
    return lambda difference: any(map(test, difference.path[:-1]))


def not_strict(difference):
    return difference.profile == "default"


def ends_now(difference):
    return any(each.end == reference.moment(difference.case) for each in difference.path)


def has_other_candidates(difference):
    """By its name, another certificate could be the issuer of a certificate of the path. One that isn't DER counts."""
    return is_unreadable(difference) or any(
        each.subject == below.issuer and each not in (above, below)
        for below, above in difference.edges for each in difference.certificates)


def names_differ_in_octets(difference):
    return any(below.issuer_octets != above.subject_octets for below, above in difference.edges)


def key_identifiers_differ(difference):
    return any(
        None not in (pair := (key_identifier(below, chains.AKI), key_identifier(above, chains.SKI)))
        and pair[0] != pair[1] for below, above in difference.edges)


def names_issuer_certificate(difference):
    """authorityKeyIdentifier names a certificate too, which an issuer's other certificate is not."""
    return any(names_a_certificate(below) for below, _ in difference.edges)


def has_self_issued_intermediate(difference):
    return any(each.is_self_issued for each in difference.path[1:-1])


def exceeds_length_if_all_count(difference):
    """A path length of the path is exceeded if self-issued certificates count too."""
    return any(
        depth > 0 and each.basic[1] is not None and depth - 1 > each.basic[1]
        for depth, each in enumerate(difference.path))


def is_shuffled(difference):
    """The presented certificates aren't the path, in its order."""
    presented = [reference.certificate(text) for text in difference.texts[: 1 + len(
        difference.case["untrusted_intermediates"])]]
    return presented[: len(difference.path) - 1] != difference.path[:-1] or len(presented) > len(difference.path)


def host_has_trailing_dot(difference):
    return difference.case["expected_peer_name"]["value"].endswith(".")


def has_unconstrained_oddity(difference):
    """The leaf has a malformed name of a kind that no certificate of the path constrains."""
    kinds = {kind for each in difference.path for kind, _ in subtrees(each)}
    return any(kind not in kinds and is_malformed_name(kind, name) for kind, name in difference.leaf.names)


def is_malformed_name(kind, name):
    bases = {1: b"a.test", 2: b"", 4: b"\x30\0", 6: b"a.test", 7: bytes(2 * len(name))}
    try:
        reference.covers(kind, bases[kind], name, True)
    except (reference.Malformed, KeyError, ValueError, IndexError):
        return True
    return False


def has_malformed_constrained_name(difference):
    """The leaf has a malformed name of a kind that a certificate constrains."""
    kinds = {kind for each in difference.certificates for kind, _ in subtrees(each)}
    return any(kind in kinds and is_malformed_name(kind, name) for kind, name in difference.leaf.names)


# Evidence for refusals.


def finding(pattern):
    return lambda difference: re.search(pattern, difference.refusal)


def has_several_candidates(difference):
    """Two certificates have one name, so that the finding may be about another path than the library's."""
    subjects = [each.subject for each in difference.certificates]
    return len(subjects) != len(set(subjects)) or is_unreadable(difference)


def repeats_name_and_key(difference):
    """Two certificates have one name and one key."""
    found = [(each.subject, each.spki) for each in difference.certificates]
    return len(found) != len(set(found))


def any_anchor(test):
    return lambda difference: any(map(test, difference.anchors))


def identifiers_mismatch(difference):
    """The keys that two certificates name aren't the same, or one names a certificate besides."""
    certificates = difference.certificates
    return any(
        key_identifier(below, chains.AKI) != key_identifier(above, chains.SKI) for below in certificates
        for above in certificates if below.issuer == above.subject) or any(map(names_a_certificate, certificates))


def no_path(difference):
    """The reference finds no valid path either."""
    return difference.path is None


def has_unused_bits(difference):
    """The BIT STRING of a key or signature has unused bits. That of a usage is shorter."""
    trees = (tree for text in difference.texts for tree in parse(unpem(text)) or [])
    return any(
        node.tag == 3 and len(node.content) > 8 and node.content[0] for tree in trees for node in tree.nodes())


def is_unreadable(difference):
    """A certificate isn't DER."""
    return any(reference.certificate(text) is None for text in difference.texts)


def both(*conditions):
    return lambda difference: all(each(difference) for each in conditions)


def either(*conditions):
    return lambda difference: any(each(difference) for each in conditions)
