"""Mutations of the octets of a certificate, and of their tree of DER."""

from der import boolean, integer, length, oid, parse, sequence, tlv


def mutate_octets(octets, random):
    octets = bytearray(octets)
    match random.randrange(5):
        case 0:
            for _ in range(random.randint(1, 3)):
                octets[random.randrange(len(octets))] ^= 1 << random.randrange(8)
        case 1:
            octets[random.randrange(len(octets))] = random.choice([0, 1, 0x7F, 0x80, 0x81, 0xFF, random.randrange(256)])
        case 2:
            del octets[random.randrange(len(octets)) :]
        case 3:
            at = random.randrange(len(octets))
            octets[at:at] = random.randbytes(random.randint(1, 8))
        case 4:
            at = random.randrange(len(octets))
            del octets[at : at + random.randint(1, 8)]
    return bytes(octets)


def mutate_tree(octets, random):
    (root,) = parse(octets)
    for _ in range(random.choice([1, 1, 1, 2])):
        random.choice([change_content, change_content, change_tag, change_length, change_children, change_extensions])(
            root, random)
    return root.encoded()


def change_content(root, random):
    node = random.choice([each for each in root.nodes() if each.children is None])
    content = bytearray(node.content)
    match random.randrange(5):
        case 0 if content:
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        case 1 if content:
            content[random.randrange(len(content))] = random.choice([0, 0x20, 0x2A, 0x2E, 0x7F, 0xFF])
        case 2:
            del content[random.randrange(len(content) + 1) :]
        case 3:
            content[:0] = random.choice([b"\0", b"\xff", b".", b"*."])
        case _:
            content += random.choice([b"\0", b".", b"\0.example.org", random.randbytes(3)])
    node.content = bytes(content)


def change_tag(root, random):
    node = random.choice(list(root.nodes()))
    node.tag = random.choice([node.tag ^ 1 << random.randrange(8), 1, 2, 4, 5, 12, 19, 22, 23, 24, 30, 0x30, 0x31])


def change_length(root, random):
    node = random.choice(list(root.nodes()))
    tag, kind, off = bytes([node.tag]), random.randrange(4), random.choice([-2, -1, 1, 2, 100])
    node.head = lambda count: tag + [
        b"\x81" + bytes([count & 0xFF]), b"\x83" + count.to_bytes(3, "big"), length(max(count + off, 0)), b"\x80",
    ][kind]


def change_children(root, random):
    node = random.choice([each for each in root.nodes() if each.children])
    at, to = random.randrange(len(node.children)), random.randrange(len(node.children))
    match random.randrange(4):
        case 0:
            del node.children[at]
        case 1:
            node.children.insert(to, node.children[at])
        case 2:
            node.children[at], node.children[to] = node.children[to], node.children[at]
        case 3:
            other = random.choice(list(root.nodes()))
            # No element may come to stand in itself.
            if all(each is not node for each in other.nodes()):
                node.children[at] = other


def change_extensions(root, random):
    lists = [each for each in root.children if each.tag == 0xA3 and each.children]
    if not lists or not lists[0].children[0].children:
        return change_children(root, random)
    extensions = lists[0].children[0].children
    at = random.randrange(len(extensions))
    match random.randrange(6):
        case 0:
            del extensions[at]
        case 1:
            extensions.append(extensions[at])
        case 2:
            random.shuffle(extensions)
        case 3:
            fields = [each for each in extensions[at].children or [] if each.tag != 1]
            is_critical = len(fields) == len(extensions[at].children or [])
            extensions[at].children = fields[:1] + (parse(boolean(True)) if is_critical else []) + fields[1:]
        case 4:
            critical = boolean(random.choice([True, True, False]))
            identifier = random.choice(["1.3.6.1.4.1.99999.1", "2.5.29.36", "2.5.29.54", "2.5.29.31", "2.5.29.33"])
            extensions += parse(sequence(oid(identifier), critical, tlv(4, sequence())))
        case 5:
            extensions[at].children[-1:] = parse(tlv(4, random.choice([b"", sequence(), tlv(5), integer(-1)])))
