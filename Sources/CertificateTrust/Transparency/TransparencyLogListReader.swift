import PinctlBasics
import PinctlFoundation

/// A reader for Google's `log_list.json`, version 3: the schema at
/// `https://www.gstatic.com/ct/log_list/v3/log_list_schema.json` (read on 2026-11-24).
///
/// It is strict with the fields that decide, and ignores all others: the format is someone else's, and grows.
struct TransparencyLogListReader {
    let path: String
    /// The identifiers of logs whose private keys are public.
    let mimics: Set<[UInt8]>

    func list(_ bytes: [UInt8]) throws(TransparencyLogListError) -> TransparencyLogList {
        let document = JSONCReader.read(bytes, dialect: .json)
        if let problem = document.problems.first { throw error(problem.message, at: problem.position) }
        guard let root = document.root, let operators = root["operators"]?.elements else {
            throw error("isn't a list of logs (it has no \"operators\"): give Google's log_list.json, version 3")
        }
        guard let published = try date(root["log_list_timestamp"], "log_list_timestamp") else {
            throw error("the list has no \"log_list_timestamp\": give Google's log_list.json, version 3")
        }
        var logs: [TransparencyLog] = []
        var known: Set<[UInt8]> = []
        for entry in operators {
            let name = try text(entry["name"], "name", of: entry)
            for (key, isRFC6962) in [("logs", true), ("tiled_logs", false)] {
                guard let list = entry[key] else { continue }
                guard let elements = list.elements else {
                    throw error("\"\(key)\" must be an array", at: list.position)
                }
                for value in elements {
                    guard logs.count < TransparencyLogList.maximumLogs else {
                        throw error(
                            "the list has more than \(TransparencyLogList.maximumLogs) logs: give a list of the logs "
                                + "in use", at: value.position)
                    }
                    let log = try log(value, of: name, isRFC6962: isRFC6962)
                    guard known.insert(log.identifier).inserted else {
                        throw error("the list has a log twice: remove one of them", at: value.position)
                    }
                    logs.append(log)
                }
            }
        }
        guard !logs.isEmpty else { throw error("the list has no log: give Google's log_list.json, version 3") }
        // mutant mimic-list: true by LogListTests
        guard logs.contains(where: { !$0.isMimic }) else {
            throw error(
                "the list has only mimic logs, whose private keys are public, so anyone can make their timestamps: "
                    + "give a list of logs that browsers recognize")
        }
        return TransparencyLogList(published: published, logs: logs, digest: sha256Digest(bytes.span))
    }

    private func log(
        _ value: JSONValue, of owner: String, isRFC6962: Bool
    ) throws(TransparencyLogListError) -> TransparencyLog {
        let keyBytes = try base64(value["key"], "key", of: value)
        let identifier = try base64(value["log_id"], "log_id", of: value)
        guard identifier == sha256Digest(keyBytes.span) else {
            throw error("\"log_id\" isn't the SHA-256 of \"key\": get the list again", at: value.position)
        }
        let key: SubjectPublicKeyInfo
        do throws(DERError) {
            key = try SubjectPublicKeyInfo(derBytes: keyBytes)
        } catch {
            throw self.error("\"key\" isn't a public key (\(error)): get the list again", at: value.position)
        }
        let (state, start) = try state(value)
        var previous: [(name: String, end: Date)] = []
        for entry in value["previous_operators"]?.elements ?? [] {
            guard let end = try date(entry["end_time"], "end_time") else {
                throw error("a previous operator has no \"end_time\": get the list again", at: entry.position)
            }
            previous.append((try text(entry["name"], "name", of: entry), end))
        }
        return TransparencyLog(
            identifier: identifier, key: key,
            name: value["description"]?.string ?? value["url"]?.string ?? value["submission_url"]?.string ?? owner,
            isRFC6962: isRFC6962, state: state, stateStart: start, expiryInterval: try interval(value),
            operatorName: owner, previousOperators: previous, isMimic: mimics.contains(identifier))
    }

    /// Returns the state of a log and its start. A log for tests isn't recognized, whatever its state is.
    private func state(_ value: JSONValue) throws(TransparencyLogListError) -> (TransparencyLog.State, Date) {
        guard let members = value["state"]?.members, let member = members.first, members.count == 1,
            let state = TransparencyLog.State(rawValue: member.key), value["log_type"]?.string ?? "prod" == "prod"
        else { return (.unknown, .distantPast) }
        guard let start = try date(member.value["timestamp"], "timestamp") else {
            throw error("the state of a log has no \"timestamp\": get the list again", at: value.position)
        }
        return (state, start)
    }

    private func interval(_ value: JSONValue) throws(TransparencyLogListError) -> Range<Date>? {
        guard let interval = value["temporal_interval"] else { return nil }
        guard let start = try date(interval["start_inclusive"], "start_inclusive"),
            let end = try date(interval["end_exclusive"], "end_exclusive"), start < end
        else {
            throw error(
                "\"temporal_interval\" has no start before an end: get the list again", at: interval.position)
        }
        return start..<end
    }

    // MARK: Values

    private func text(
        _ value: JSONValue?, _ key: String, of owner: JSONValue
    ) throws(TransparencyLogListError) -> String {
        guard let text = value?.string, !text.isEmpty else {
            throw error("an operator or log has no \"\(key)\": get the list again", at: owner.position)
        }
        return text
    }

    private func base64(
        _ value: JSONValue?, _ key: String, of owner: JSONValue
    ) throws(TransparencyLogListError) -> [UInt8] {
        guard let text = value?.string, let bytes = Base64.decodeCanonical(Array(text.utf8)) else {
            throw error("a log has no \"\(key)\" in Base64: get the list again", at: owner.position)
        }
        return bytes
    }

    /// Returns a time, or `nil` if there is none.
    private func date(_ value: JSONValue?, _ key: String) throws(TransparencyLogListError) -> Date? {
        guard let value else { return nil }
        guard let date = value.string.flatMap({ Date(rfc3339: $0) }) else {
            throw error("\"\(key)\" isn't an RFC 3339 time: get the list again", at: value.position)
        }
        return date
    }

    private func error(_ reason: String, at position: SourcePosition? = nil) -> TransparencyLogListError {
        TransparencyLogListError(path: path, line: position.map { Int($0.line) }, reason: reason)
    }
}
