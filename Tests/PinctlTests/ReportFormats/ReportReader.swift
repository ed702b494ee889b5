import CertificatePinning
import PinctlBasics
import PinctlTestPKI

@testable import PinctlCommands

/// Readers that share no code with the writers: those of Python.
enum ReportReader {
    /// A report, and a text that appears in it.
    struct Case {
        let format: String
        let document: String
        let text: String
    }

    /// The errors in the reports, one per line; empty if there are none.
    static func errorOutputs(about cases: [Case]) throws -> String {
        let input = JSON.array(
            cases.map { ["format": .string($0.format), "document": .string($0.document), "text": .string($0.text)] })
        let result = try TestCommand.run(["python3", "-c", script], input: input.text)
        return String(decoding: result.output + result.errors, as: UTF8.self)
    }

    private static let script = #"""
        import base64, hashlib, html, html.parser, json, re, sys
        import xml.etree.ElementTree as tree

        def plain(text):
            return re.sub(r"\\u\{([0-9A-F]+)\}", lambda m: chr(int(m[1], 16)), text)

        def strings(value):
            if isinstance(value, str): yield value
            elif isinstance(value, list):
                for element in value: yield from strings(element)
            elif isinstance(value, dict):
                for key, element in value.items(): yield key; yield from strings(element)

        def read_junit(document):
            root = tree.fromstring(document.encode())
            assert root.tag == "testsuites"
            allowed = {"testsuites": "testsuite", "testsuite": "properties testcase", "properties": "property",
                       "testcase": "failure error skipped system-out"}
            for parent in root.iter():
                for child in parent: assert child.tag in allowed[parent.tag].split(), (parent.tag, child.tag)
            for suite in root:
                for attribute, tag in (("tests", "testcase"), ("failures", "testcase/failure"),
                                       ("errors", "testcase/error"), ("skipped", "testcase/skipped")):
                    assert int(suite.get(attribute)) == len(suite.findall(tag)), attribute
                total = sum(float(case.get("time")) for case in suite.iter("testcase"))
                assert abs(total - float(suite.get("time"))) < 0.001
                names = [(case.get("classname"), case.get("name")) for case in suite.iter("testcase")]
                assert len(names) == len(set(names)), "a name stands twice"
            for element in root.iter():
                yield element.text or ""
                yield from element.attrib.values()

        def read_sarif(document):
            log = json.loads(document)
            assert log["version"] == "2.1.0" and len(log["runs"]) == 1
            run = log["runs"][0]
            rules = run["tool"]["driver"]["rules"]
            assert run["tool"]["driver"]["name"] == "pinctl"
            assert len({rule["id"] for rule in rules}) == len(rules)
            prints = set()
            for result in run["results"]:
                assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
                assert rules[result["ruleIndex"]]["help"]["text"]
                assert result["level"] in ("error", "warning") and result["message"]["text"]
                assert "](" not in result["message"]["text"], "a link"
                prints.add(json.dumps(result["partialFingerprints"]))
                for location in result["locations"]:
                    physical = location["physicalLocation"]
                    assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", physical["artifactLocation"]["uri"])
                    assert physical["region"]["startLine"] >= 1
            assert len(prints) == len(run["results"])
            return strings(log)

        def read_markdown(document):
            found = re.findall(r"^(`{3,})text\n(.*?)\n\1$", document, re.M | re.S)
            for fence, text in found:
                yield text
                assert fence not in text
            rest = re.sub(r"^(`{3,})text\n(.*?)\n\1$", "", document, flags=re.M | re.S)
            for line in rest.split("\n"):
                # Findings have four columns, certificates eight.
                assert not line.startswith("| ") or line.count("|") in (5, 9), line[:200]
            for text in re.findall(r"<code>(.*?)</code>", rest): yield html.unescape(text)
            rest = re.sub(r"<code>(.*?)</code>", "", rest)
            yield from re.findall(r"`([^`\n]+)`", rest)
            rest = re.sub(r"`([^`\n]+)`", "", rest)
            rest = re.sub(r"</?details>|</?summary>|<br>", "", rest)
            assert re.fullmatch(r"[A-Za-z0-9 \n#|:,.-]*", rest), re.sub(r"[A-Za-z0-9 \n#|:,.-]", "", rest)

        class Page(html.parser.HTMLParser):
            void = {"meta", "br", "input"}
            def __init__(self):
                super().__init__()
                self.open, self.texts, self.ids, self.policy, self.scripts = [], [], [], "", {"script": 0, "style": 0}
            def handle_starttag(self, tag, attributes):
                values = dict(attributes)
                assert tag in set("""html head meta title style body a header p \#
        h1 h2 h3 span ul ol li b code br time table
                    caption thead tbody tr th td form label input \#
        fieldset legend output main section details summary div
                    pre footer script""".split()), tag
                for name, value in attributes:
                    assert not name.startswith("on") and name not in ("src", "style", "srcdoc", "action"), name
                    assert name != "href" or value.startswith("#")
                    self.texts.append(value or "")
                if "id" in values: self.ids.append(values["id"])
                if values.get("http-equiv") == "Content-Security-Policy": self.policy = values["content"]
                if tag not in self.void: self.open.append(tag)
            def handle_endtag(self, tag):
                assert self.open.pop() == tag, tag
            def handle_data(self, data):
                if self.open and self.open[-1] in self.scripts:
                    kind = self.open[-1]
                    digest = base64.b64encode(hashlib.sha256(data.encode()).digest()).decode()
                    assert f"{kind}-src 'sha256-{digest}'" in self.policy, kind
                    self.scripts[kind] += 1
                else: self.texts.append(data)

        def read_html(document):
            page = Page()
            page.feed(document)
            page.close()
            assert page.open == [] and page.scripts == {"script": 1, "style": 1}
            assert page.policy.startswith("default-src 'none'; ")
            assert len(page.ids) == len(set(page.ids))
            assert "http" not in document.replace("http-equiv", "").replace("https://evil.test", "")
            return page.texts

        def read_prometheus(document):
            assert document.endswith("\n")
            names, series, current = set(), set(), None
            for line in document[:-1].split("\n"):
                if line.startswith("# HELP "):
                    current = line.split(" ")[2]
                    assert current not in names
                    names.add(current)
                elif line.startswith("# TYPE "): assert line == f"# TYPE {current} gauge"
                else:
                    match = re.fullmatch(
                        r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} ([0-9.]+)', line)
                    assert match, line[:200]
                    assert match[1] == current and match[1] + match[2] not in series
                    series.add(match[1] + match[2])
                    for value in re.findall(r'"((?:[^"\\\n]|\\["\\n])*)"', match[2]):
                        yield re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), value)

        def read_json(document):
            document = json.loads(document)
            assert document["schema"] == "pinctl.check/1" and document["summary"]["exit_code"] == 1
            return strings(document)

        for case in json.load(sys.stdin):
            try:
                texts = list(globals()["read_" + case["format"]](case["document"]))
                if not any(plain(case["text"]) in plain(text) for text in texts):
                    print(case["format"], ascii(case["text"])[:200], "does not come back")
            except Exception as error:
                print(case["format"], ascii(case["text"])[:200], type(error).__name__, ascii(str(error))[:300])
        """#
}
