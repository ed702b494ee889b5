import PinctlBasics

/// The places in a property list where a system looks for its keys.
struct PropertyListPlaces {
    /// A key in a dictionary in which its system doesn't look for it.
    struct Stray {
        let member: PropertyList.Member
        /// The keys that lead to the dictionary, empty for the list itself.
        let path: [String]
        /// Whether the key is a host, whose dictionary is in that of another host.
        let isHost: Bool
    }

    /// The word for any key in a path.
    static let any = "*"

    /// The paths of the dictionaries in which each key is read.
    let homes: [String: [[String]]]
    /// The path of the dictionary of hosts.
    let hosts: [String]
    /// The keys without which a dictionary doesn't concern pins.
    let pinKeys: Set<String>
    /// The keys whose dictionaries have more keys of the system inside.
    private let containers: [String]

    /// Creates the places. `homes` are the paths of dictionaries, each with the keys that are read in it.
    init(hosts: [String], pinKeys: Set<String>, _ homes: KeyValuePairs<[String], [String]>) {
        self.hosts = hosts
        self.pinKeys = pinKeys
        var places: [String: [[String]]] = [:]
        for (path, keys) in homes {
            for key in keys { places[key, default: []].append(path) }
        }
        self.homes = places
        let inner = Set(homes.flatMap(\.key))
        containers = places.filter { key, homes in
            inner.contains(key) && !homes.contains { $0 == hosts + [Self.any] }
        }.keys.sorted()
    }

    /// Returns whether the system knows the key, wherever it reads it.
    func knows(_ key: String) -> Bool { homes[key] != nil }

    /// Returns the keys that the system reads in a dictionary.
    private func keys(in path: [String]) -> [String] {
        homes.filter { $0.value.contains { Self.matches(path, $0) } }.keys.sorted()
    }

    private static func matches(_ path: [String], _ home: [String]) -> Bool {
        path.count == home.count && zip(path, home).allSatisfy { $0 == $1 || $1 == any }
    }

    /// Returns the key that an unknown key of a dictionary may have meant, or `nil`.
    ///
    /// An app's own dictionary may have a similar name, so a name for a dictionary is meant only if keys of pins are
    /// inside.
    func meant(by member: PropertyList.Member, in path: [String]) -> String? {
        guard !knows(member.key) else { return nil }
        let keys = keys(in: path) + (path.isEmpty ? containers : [])
        // The name of a program's constant isn't a guess.
        if let key = keys.first(where: { member.key == "k" + $0 }) { return key }
        guard let meant = suggestion(for: member.key, among: keys) else { return nil }
        return !containers.contains(meant) || holdsPins(member.value) ? meant : nil
    }

    /// Returns whether a key of pins is inside a value, at any depth.
    func holdsPins(_ list: PropertyList) -> Bool {
        (list.members ?? []).contains { pinKeys.contains($0.key) || holdsPins($0.value) }
            || (list.elements ?? []).contains(where: holdsPins)
    }

    /// Returns the keys that aren't read where they are, in the order of the list. What is inside such a key isn't
    /// searched, and neither is what is inside a misspelled key.
    func strays(in list: PropertyList) -> [Stray] {
        var strays: [Stray] = []
        collect(list, [], &strays)
        return strays
    }

    private func collect(_ list: PropertyList, _ path: [String], _ strays: inout [Stray]) {
        guard strays.count < TextLimits.notes else { return }
        for element in list.elements ?? [] { collect(element, path, &strays) }
        let isHost = path.count == hosts.count + 1 && path.starts(with: hosts)
        for member in list.members ?? [] {
            if let homes = homes[member.key] {
                // mutant plist-misplaced: true by LintQuirkTests
                guard homes.contains(where: { Self.matches(path, $0) }) else {
                    strays.append(Stray(member: member, path: path, isHost: false))
                    continue
                }
            } else if meant(by: member, in: path) != nil {
                continue
                // mutant plist-host-in-host: false for 1 by LintQuirkTests/hostInHost
            } else if isHost, member.value.members != nil, holdsPins(member.value) {
                strays.append(Stray(member: member, path: path, isHost: true))
                continue
            }
            collect(member.value, path + [member.key], &strays)
        }
    }
}

extension PropertyListPlaces.Stray {
    /// The finding, with the place where the key is read.
    func message(moveTo place: String) -> String {
        let here = path.isEmpty ? "at the top level of the list" : "in \(visibleText(path.joined(separator: "/")))"
        return "\(isHost ? quoted(member.key) : member.key) \(here) is ignored: move it to \(place)"
    }
}
