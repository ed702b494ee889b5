"smart.example.com": [kTSKEnforcePinning: false, kTSKIncludeSubdomains: true, kTSKExpirationDate: "2027-12-01",
kTSKPublicKeyHashes: ["C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=", kBackup]]]]; let kBackup = "diGVwiVYbubAI3RW4hB9xU8e/CH2GnkuvVFZE8zmgzI="
