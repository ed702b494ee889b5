fetch("https://jsnj.example.com/path?x", { method: "GET", pkPinning: true, sslPinning: { certs: ["sha256/kPwnudZVhc+iC/fTd3OPph8uugk1YN5ZsJDAeM2P4UU="] } }).then(r => { log(r) })
