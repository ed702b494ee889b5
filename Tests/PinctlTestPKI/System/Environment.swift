import Glibc

/// Sets a variable of this process, for what reads it (`setenv`).
package func setEnvironment(_ name: String, _ value: String) { unsafe _ = setenv(name, value, 1) }
