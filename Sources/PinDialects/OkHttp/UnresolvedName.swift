import CertificatePinning
import PinctlBasics

/// A name or expression whose value can't be determined from the text of the program.
struct UnresolvedName: Error {
    enum Reason {
        /// The name isn't set in the file.
        case unset
        /// The name isn't set in the project, or the project can't be read as a whole.
        case unsetInProject(String?)
        /// The name is set, but not to a single value that is known.
        case varies
        /// The name is a parameter of a function, which its callers give a value.
        case parameter
    }

    let name: String
    let reason: Reason
    /// Where the name is set.
    let places: [PolicyLocation]

    init(_ name: String, _ reason: Reason = .unset, at places: [PolicyLocation] = []) {
        (self.name, self.reason, self.places) = (name, reason, places)
    }
}

extension UnresolvedName: CustomStringConvertible {
    var description: String {
        let fault =
            switch reason {
            case .unset: "isn't set to a string or list in this file"
            case .unsetInProject(nil): "isn't set to a string or list in this file or its project"
            case .unsetInProject(let problem?):
                "isn't set to a string or list in this file, and its project can't be searched (\(problem))"
            case .parameter:
                "is a parameter\(places.first.map { " (\($0))" } ?? ""), whose value isn't known here"
            case .varies where places.isEmpty: "isn't the same throughout this file"
            case .varies where places.count == 1: "isn't a constant string or list at \(places[0])"
            case .varies:
                "isn't the same at \(places[0]) and \(places[1])"
                    + (places.count > 2 ? ", and in \(places.count - 2) more places" : "")
            }
        return "\(quoted(name)) \(fault): write the string itself in the call"
    }
}
