import Glibc

/// Sets a variable of this process, for a library that reads it (`setenv`).
func setEnvironment(_ name: String, _ value: String) { unsafe _ = setenv(name, value, 1) }
