"""DER: writing it, and taking it apart for mutation."""


def tlv(tag, *parts):
    body = b"".join(parts)
    return bytes([tag]) + length(len(body)) + body


def length(count):
    if count < 0x80:
        return bytes([count])
    octets = count.to_bytes((count.bit_length() + 7) // 8, "big")
    return bytes([0x80 | len(octets)]) + octets


def sequence(*parts):
    return tlv(0x30, *parts)


def oid(dotted):
    first, second, *rest = map(int, dotted.split("."))
    body = b""
    for arc in [first * 40 + second, *rest]:
        septets = [arc & 0x7F]
        while arc := arc >> 7:
            septets.append(0x80 | arc & 0x7F)
        body += bytes(reversed(septets))
    return tlv(6, body)


def boolean(flag):
    return tlv(1, b"\xff" if flag else b"\0")


def integer(number):
    return tlv(2, number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True))


def bit_string(octets, unused=0):
    return tlv(3, bytes([unused]), octets)


class Node:
    """One element; `head` replaces the identifier and length octets it would be written with."""

    def __init__(self, tag, content, children):
        self.tag, self.content, self.children, self.head = tag, content, children, None

    def encoded(self):
        body = self.content if self.children is None else b"".join(child.encoded() for child in self.children)
        return (self.head(len(body)) if self.head else bytes([self.tag]) + length(len(body))) + body

    def nodes(self):
        """Itself and everything below it."""
        yield self
        for child in self.children or []:
            yield from child.nodes()


def parse(octets):
    """The elements that fill `octets`, one behind the other; None when they do not."""
    nodes, at = [], 0
    while at < len(octets):
        if at + 2 > len(octets):
            return None
        tag, count, start = octets[at], octets[at + 1], at + 2
        if count >= 0x80:
            width = count & 0x7F
            count, start = int.from_bytes(octets[start : start + width], "big"), start + width
        at = start + count
        if at > len(octets) or tag & 0x1F == 0x1F:
            return None
        content = octets[start:at]
        # An OCTET STRING may hold DER in its turn, as the value of an extension does.
        children = parse(content) if tag & 0x20 or tag == 4 and count > 1 else None
        nodes.append(Node(tag, content, children))
    return nodes
