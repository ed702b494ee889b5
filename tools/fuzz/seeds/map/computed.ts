await initializeSslPinning({ [hostname]: { publicKeyHashes: ['C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M='] },
 'api.example.com': { publicKeyHashes: [config.hash, 'sha256/XXXX'] } });
